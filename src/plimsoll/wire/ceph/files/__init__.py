"""Directories of CephFS: made, removed, measured, copied, and their snapshots.

Start with `filesystem`, which the driver calls. libcephfs has no time limits while no metadata
server answers, and a thread in it cannot be given up. So it runs in a process of its own, `worker`,
which is killed when its time is over. `fencing` sees to it that what the dead client held open
keeps no other client waiting, `metadata_servers` that none is started in vain. `messages` is what
both processes say to each other; `removal` and `copying` are the parts of the worker that take
long, in steps.
"""
