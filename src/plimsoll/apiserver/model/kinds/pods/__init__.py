"""Pods: what the API server fills in, refuses and warns about. Start at `rules.py`.

Pod templates of workloads obey the same rules; `spec.py` and `template.py` are shared with them.
"""
