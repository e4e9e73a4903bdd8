"""Plimsoll beside the real programs: what they build, how they start, what is compared.

Start reading at `__main__.py`, which lists the steps; `peers.py` builds the programs and
`control_plane.py` starts them.
"""
