"""What the server itself keeps in the cluster, as far as clients rely on it for who may do what.

`own_writes.py` is how it writes; `keeper.py` calls the others when something changes.
"""
