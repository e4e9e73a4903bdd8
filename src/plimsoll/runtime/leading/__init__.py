"""Of several copies of a process one leads: the election, its fence, and the epoch of a leader.

Start with `leader`.
"""
