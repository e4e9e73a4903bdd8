"""What classes and pods prefer about the capacity that new volumes are taken from, and how nodes
are scored by it. Only the default policy asks.

Start at `preference.py`, which reads the annotations; `score.py` scores all nodes by them.
"""
