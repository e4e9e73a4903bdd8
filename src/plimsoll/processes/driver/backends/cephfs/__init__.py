"""Volumes as directories of CephFS: start reading at `backend`.

`volume_directories` says where volumes, snapshots and what is left of removed ones are in the file
system. Classes are read by `options`. `fuse_mounts` shows directories on a node, each by a process
of its own (`fuse_clients`).
"""
