"""Pods: what the API server fills in, refuses and warns about. Start at `rules.py`.

Pod templates of workloads obey the same rules: they share `spec.py` and `defaults.py`.
"""
