"""The pods that are on nodes, as the rules about other pods need them.

Start with `index`, which finds pods by node, claim and disk. `matching` finds the selectors that a
pod's labels match, without trying each of them. `counts` holds, for every selector that rules ask
about, how many of the pods on each node match it; `alike` finds the pods that a new one may match.
`ports` knows the ports of nodes that are taken,
`terms` what the pods on nodes say about others. `workloads` knows the selectors of Services and
controllers, by which pods belong together that say nothing about it. `budgets` are the
PodDisruptionBudgets, `nominations` the waiting pods to which a node was promised."""
