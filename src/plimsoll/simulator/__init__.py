"""A whole cluster in one event loop with virtual time, from which nothing escapes. A run can be
repeated from its seed. Start with `run`; `stories` has the clusters of tests."""
