"""The edge to Ceph: objects of RADOS and images of RBD, by Debian's python3-rados and python3-rbd.

Start with `connection`: every call has a time limit and runs in a thread. `objects` and `images`
are what a pool can be asked; `errors` translates what goes wrong.
"""
