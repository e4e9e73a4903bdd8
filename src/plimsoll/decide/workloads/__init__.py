"""Workload controllers, for clusters without kube-controller-manager: which pods each one needs.

Start with `owned`: it tells which objects belong to a workload. Then read `stateful_set/`, the most
important one for volumes. Every kind behaves as in Kubernetes for the fields it supports.
"""
