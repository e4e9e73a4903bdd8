"""Fencing lost domains, so that nodes of others can take over their volumes.

Start with `service`: the calls of `plimsoll.v1.Domains`. A backend has them if it implements
`protocol`; `fences` is what the driver remembers and checks.
"""
