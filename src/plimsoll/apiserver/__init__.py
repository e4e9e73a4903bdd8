"""The embedded Kubernetes API server. Start with `routes`, then `revisions`."""
