"""Volumes as images of Ceph: start reading at `backend`.

`journaled_images` makes one image for each request, by the journal in the cluster (`journal_runs`).
Classes are read by `options`, figures of the cluster by `cluster_report`; `copies` are whole, and
`fuse_devices` shows images on a node.
"""
