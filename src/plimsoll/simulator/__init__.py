"""A whole cluster in one event loop, reproducible from a seed; uses the in-process transport."""
