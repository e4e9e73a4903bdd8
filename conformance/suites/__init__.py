"""Kubernetes' own integration suites about scheduling, with our scheduler in the place of theirs.

Start with `__main__`, which is `make suites`. `overlay` lays our shim over the sources of
Kubernetes where Go compiles them, `build` compiles a suite, `run` runs it and counts its tests.
The API server and etcd that the suites start are the real ones."""
