"""What to do with a scenario that fails: `shrink` makes it short, `timeline` tells what happened.

Start with `shrink`.
"""
