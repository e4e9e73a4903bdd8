"""Processes as parts of a larger one: `assembly` keeps them up, each by itself, in one event loop.

`control_plane` and `machine` make the parts of the two processes of `plimsoll up`.
"""
