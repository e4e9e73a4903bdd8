"""Simulated network storage: named pools with topology, size, latency, and faults on demand.

Start with `backend`; `options` says how pools are described, `faults` what can be made to go wrong.
"""
