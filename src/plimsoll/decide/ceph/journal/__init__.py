"""The journal: which image belongs to which request, kept as omap keys of RADOS objects.

Start with `reservations`, the steps of Plimsoll's driver; `compatible` has those of ceph-csi. Both
are generators: they yield operations on RADOS and are sent the answers, so that the driver runs
them on a cluster and a test on a table that fails where it wants. `layout` names objects and keys.
"""
