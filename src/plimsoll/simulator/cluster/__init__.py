"""A simulated cluster: the processes of production in the engine, and what they consist of.

Start with `simulated_cluster`; `assembly` says how each process is put into a simulated one.
"""
