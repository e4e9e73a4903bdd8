"""DaemonSets: one pod on every suitable node. Start with `daemon_set`."""
