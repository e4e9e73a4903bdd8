"""Runs the simulator over many seeds, and replays a scenario that failed.

`make sim` and `make replay` call it. Start with `__main__`.
"""
