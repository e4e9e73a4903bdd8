"""A node's directory: the seam (`seam`), and one on disk with real mounts (`real`)."""
