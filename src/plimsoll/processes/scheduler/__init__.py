"""The scheduler: pods to nodes, volumes first.

Start with `cycle`, which takes one pod after the other from the `queue`, has the kernel decide, and
starts its `binding`. `state` is what the scheduler decides on, `events` what users are told.
`configuration/` reads profiles. `running` puts them together, `main` is the process around it all.
"""
