"""Kinds that make pods: defaults and rules, one module for each kind.

What they share about selectors and templates is in `replicated.py`.
"""
