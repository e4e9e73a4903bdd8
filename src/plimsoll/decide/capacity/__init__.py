"""What is published about the free capacity of drivers, and what is wrong with it.

Start with `publishing`: which numbers must exist, which are there, which must be asked for again.
`reports` turns a driver's answer into a write, `pools` tells which numbers are about the same
bytes, `templates` speaks for nodes that do not exist yet, `freshness` tells when a publisher last
looked. `overview` and `findings` are the reading side.
"""
