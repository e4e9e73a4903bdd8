"""`plimsoll node`: what kubelet does around volumes, for where there is no kubelet.

Start with `pods`, the life of a pod on a node; `registrations` brings drivers in, `node_objects`
and `leases` report. `directory` is the seam between nodes that mount and nodes that do not.
"""
