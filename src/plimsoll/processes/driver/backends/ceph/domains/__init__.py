"""Domains of a cluster, and their fences: start reading at `cluster_fences`."""
