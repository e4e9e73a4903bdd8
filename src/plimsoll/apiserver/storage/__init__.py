"""All objects, the order of their changes, the way to the disk, and the watchers.

Start with `revisions`, then `store`, the interface of the log that keeps changes durable.
"""
