"""The scheduler: pods to nodes, volumes first.

Start with `cycle`, which takes one pod after the other from the `queue`, has it judged, and starts
its `binding`. `state` is what the scheduler believes of the cluster, `waking` tells which changes
help which pods, `reports` what users are told. `main` is the process around it all."""
