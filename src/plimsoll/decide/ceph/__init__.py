"""What the Ceph backends of the driver decide, without a connection to Ceph.

Start with `pool_choice`: which pool a volume goes to, and why. `domain_labels` tells where a node
is, `constrained_pools` what a class says about pools and `labelled_pools` what they say themselves,
`pool_capacity` what they can still promise. `journal` keeps which image belongs to which request,
`takeover` gives lost domains to other nodes. Modules and functions named `compatible…` answer as
ceph-csi does; the others follow the design of topology for ceph-csi where the two differ.
"""
