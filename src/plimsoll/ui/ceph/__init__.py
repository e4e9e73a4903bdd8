"""`plimsoll ceph`: what an administrator prepares on a Ceph cluster.

`command` has the command line, `pool_making` does what `make-pools` decides.
"""
