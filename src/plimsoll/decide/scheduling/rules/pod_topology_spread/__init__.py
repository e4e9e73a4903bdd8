"""PodTopologySpread: pods that are alike are spread over zones, nodes or other domains.

Start with `constraints`, which reads what a pod asks for, and `default_constraints` for pods that
ask for nothing. `filter` is the plain rule about one node, `score` says which of the nodes that
will do spread the pods best. `columns` is the same over all nodes at once, with `counted_nodes` for
the filter, and `score_columns` and `places` for the score. `pinned_volumes` tells of pods whose
volumes keep them where they may not be put."""
