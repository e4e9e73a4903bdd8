"""Takeover and giveback of lost storage domains.

Start with `loop`; `driver_domains` asks the driver, `automatic` edits the map by itself.
"""
