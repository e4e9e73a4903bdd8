"""Which pods must leave a node so that a pod with a higher priority can go there, decided the way
kube-scheduler's DefaultPreemption decides.

Start with `preemptor`, which the kernel asks when no node will do. `eligibility` says whether a pod
may have others evicted at all. `trial` judges a pod on one node while other pods come and go in
thought, and `victims` finds with it who must leave. `choice` takes the node where that hurts least.
`lower_pods` and `resource_search` do the same for all nodes at once that lack nothing but
resources; a test compares the two on random clusters. `column_trials` makes trials of what the
columns have judged; the kernel uses them to leave room for pods to which a node was promised."""
