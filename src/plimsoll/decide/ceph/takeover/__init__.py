"""Giving a lost domain to nodes of others, and giving it back.

Start with `served_domains`: which labels nodes get, which they keep and why. `takeover_map` reads
what an administrator wants, `objections` tells which pools would not survive it.
"""
