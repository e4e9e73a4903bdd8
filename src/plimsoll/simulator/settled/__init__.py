"""What must be true of a cluster some time after the last fault: all that can run runs, nothing is
left over. Start with `everything`, which checks all of it.
"""
