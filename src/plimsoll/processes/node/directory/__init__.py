"""A node's directory: the interface (`protocol`), and one on disk with real mounts (`real`)."""
