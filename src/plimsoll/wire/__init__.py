"""Protocols at the edge: the Kubernetes API client and its transports. Start with `transport`."""
