"""A whole cluster, killed at random under load, and an API server whose watchers come and go.

Start with `run`, which tells the story: `load` uses the cluster, `killer` ends its processes, `end`
looks whether anything was lost or is left. `soak` is about memory and file size.
"""
