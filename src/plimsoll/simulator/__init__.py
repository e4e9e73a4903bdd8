"""A whole cluster in one event loop, reproducible from a seed. So far: how a crash is simulated, by
cutting a process off from the API server (`severed`) and from its driver (`severed_csi`)."""
