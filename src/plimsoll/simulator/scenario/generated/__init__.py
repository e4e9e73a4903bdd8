"""Scenarios that are drawn from a seed: a cluster, what users do in it, and plots, which are
actions and faults that matter only together.

`generate` puts them together; start there.
"""
