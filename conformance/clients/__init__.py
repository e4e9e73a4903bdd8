"""Clients that others wrote, unmodified and at their defaults, on clusters of ours.

Start with `steps.py`: it lists them.
"""
