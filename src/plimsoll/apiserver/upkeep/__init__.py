"""Objects about identity and rights that the server itself creates and keeps as they have to be:
roles, service accounts, tokens, certificates.

`own_writes.py` is how it writes; `keeper.py` calls the others when something changes.
"""
