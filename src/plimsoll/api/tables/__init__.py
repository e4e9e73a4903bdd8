"""The resources of the Kubernetes API as data, read by `registry`."""
