"""Plimsoll: volume scheduling for Kubernetes that knows topology and capacity."""
