"""A cluster for stories: the embedded server, chosen processes, and what people, nodes and drivers
do with it, one sentence each. Start with `cluster.py`."""
