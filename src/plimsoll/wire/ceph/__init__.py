"""The edge to Ceph: objects of RADOS and images of RBD.

Start with `connection`: every call has a time limit and runs in a thread. `objects` and `images`
are what a pool can be asked; `errors` translates what goes wrong. `bindings` finds Ceph's modules
for Python: Debian's, or ours in `ctypes_bindings`; `interfaces` is what is called of either.
"""
