"""The audit log: which user asked for what. `policy` says how much of a request is written, `trail`
follows the request and writes its entries, `log_file` brings them to the disk.
"""
