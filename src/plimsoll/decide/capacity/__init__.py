"""What is told to the cluster about the room that a driver has left, and what to think of it.

Start with `publishing`: which numbers must exist, which are there, which must be asked for again.
`reports` turns a driver's answer into a write, `templates` speaks for nodes that do not exist yet,
`freshness` tells when somebody last looked. `overview` and `findings` are the reading side.
"""
