"""A whole cluster in one event loop, reproducible from a seed. Built on the in-process transport."""
