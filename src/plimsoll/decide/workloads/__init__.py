"""Workload controllers, for where no kube-controller-manager runs: who needs which pods.

Start with `owned`, which objects belong to whom; then `stateful_set`, the one that matters most for
volumes. Every kind behaves as in Kubernetes for the fields it supports.
"""
