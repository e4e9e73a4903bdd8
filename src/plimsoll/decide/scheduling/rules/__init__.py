"""One module for each plugin of kube-scheduler, under the plugin's name.

Each has the plain rule first: `judge` says of one node whether a pod can go there, with every
finding, and `prepare`, where there is one, says what holds on all nodes. Below it, under "All nodes
at once", is the same rule over columns: `blocked` gives the nodes that are refused. A test compares
the two on random clusters. `volume_binding/`, `pod_topology_spread/` and `inter_pod_affinity/` are
folders because the rules are large.

The rules about other pods have their state in `columns.pods`. `narrowing` says which nodes are
looked at at all. `preferred_topology` is a score that kube-scheduler does not have."""
