"""Volumes on the disks and in the memory of the node itself. Start: `backend`."""
