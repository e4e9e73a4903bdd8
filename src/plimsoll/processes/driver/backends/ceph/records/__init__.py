"""Records of volumes and snapshots in the journals of a cluster: start reading at `cluster_table`.

`journaled_entries` makes and removes what they are of, by `journaled_assets`; `writer_leases` says
which node writes to an image.
"""
