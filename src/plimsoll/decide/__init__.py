"""Think: snapshots in, plans out. Pure functions; the first of them arrive with the controller."""
