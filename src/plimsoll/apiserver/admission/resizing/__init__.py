"""Plugins that check requests to resize a pod in place: against the pod, and against its node."""
