"""Storage filled to the last byte: how often a driver is asked for room that it does not have.

The workloads are those of csi-driver-host-path's document about capacity tracking: each node has a
pool of its own, all pods come at once, and the pools have exactly the room that their volumes need.
Start with `__main__.py`; `workload.py` says what is played, `cluster.py` which processes play it.
"""
