"""Who asked for what: `policy` says how much is told, `trail` tells it, `log_file` keeps it."""
