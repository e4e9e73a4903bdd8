"""Volumes as images of Ceph: start reading at `backend`.

What is not about images is in `backends.ceph`: records, journal, leases of writers, the choice of
pools. Classes are read by `class_parameters`. Copies are whole (`copies`); `adoption` is for
volumes that ceph-csi made, and `fuse_devices` shows images on a node.
"""
