"""The storage kinds: what the API server fills in, resets and refuses for each of them.

One module for each kind, exporting its `RULES`; start with `storage_class`, the shortest. What two
kinds share has a module of its own: specs of volumes and claims, volume sources, driver names.
"""
