"""Think: observed objects in, plans out. Every decision is a pure function.

Start with `plan`, what a decision can say. Then `claims` binds claims and volumes, `scheduling`
chooses nodes, `provisioning` has volumes created and deleted, `capacity` publishes what is free,
`csi` attaches, resizes, modifies and snapshots, `node` mounts. `workloads` and `cluster` stand in
for kube-controller-manager, `repair` mends what no loop ends, `explain` tells users why.
"""
