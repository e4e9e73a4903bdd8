"""The edge to CSI drivers.

Start with `transport` (what carries a call) and `errors` (how it can fail).
"""
