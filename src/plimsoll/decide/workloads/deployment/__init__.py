"""Deployments: which ReplicaSets there are, and how large each is. Start with `deployment`."""
