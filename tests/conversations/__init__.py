"""Replays recorded conversations with a real API server and reports every difference.

`python -m tests.conversations` is the command; `replay.py` says what is replayed and how it is
reported; `player.py` is the comparison itself, carried over with the recordings.
"""
