"""What a request does: read, watch, create, update, patch, apply, delete.

Start with `dispatch`, which finds the verb of a request and calls its module.
"""
