"""`plimsoll node`: what kubelet does around volumes, for clusters without kubelet.

Start with `pods`, the life of a pod on a node. `registrations` registers drivers, `node_objects`
and `leases` report. `directory` is the interface of nodes that mount and nodes that do not.
"""
