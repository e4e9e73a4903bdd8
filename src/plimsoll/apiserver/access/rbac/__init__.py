"""Roles and bindings: what they allow, kept as an index. Start with `rules.py`."""
