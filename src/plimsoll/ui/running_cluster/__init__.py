"""A cluster of `plimsoll up`, looked at and stopped from another terminal.

Start with `up_command`: it finds the command that keeps the cluster of a directory up.
"""
