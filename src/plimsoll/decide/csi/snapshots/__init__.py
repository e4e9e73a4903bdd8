"""Snapshots: from a user's wish to what a driver keeps, and back to nothing.

Start with `snapshot`, what becomes of a wish; `content` is what the driver is asked for.
"""
