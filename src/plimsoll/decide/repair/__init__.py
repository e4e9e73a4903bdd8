"""Repairs of states that no other loop ends, each switched on by name and off by default.

Every rule says in its docstring why it cannot lose data. Start with `repairs`, what all have in
common.
"""
