"""InterPodAffinity: pods that a pod wants near it or far from it, and pods that want that of it.

`filter` is the plain rule, `score` the plain score. `all_nodes` is both over columns."""
