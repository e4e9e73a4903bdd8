"""The embedded Kubernetes API server. Start with `verbs.dispatch`, then `storage.revisions`."""
