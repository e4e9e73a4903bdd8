"""Kubernetes' own integration suites, with a part of ours in the place of theirs.

Start with `__main__`, which is `make suites`. `serving` lists the suites that run on our API
server, `scheduling` those that run with our scheduler on the real server. `overlay` lays a shim
over the sources of Kubernetes where Go compiles them, `build` compiles suites, `program` makes one
program of several, `run` runs them and counts their tests, `report` tells of it. `step` has those
that `make conformance` runs, side by side."""
