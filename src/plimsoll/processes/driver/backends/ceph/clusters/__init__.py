"""Volumes in several clusters behind one driver: start reading at `ceph_clusters`.

Each cluster has a backend of its own (`member_clusters`), for images or for directories.
`routed_table` finds the one that a record is in, `spanned_requests` sees to it that a request has a
volume in one of them only.
"""
