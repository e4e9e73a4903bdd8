"""Where a pod goes, decided the way kube-scheduler decides.

Start with `kernel`, which chooses a node. It asks `judge`, which puts all of `rules/` together over
the cluster in `columns/`; `picking` takes one of the nodes that will do. `reasons` is what a rule
answers about one node, `flags` the same as bits for all nodes. `explanation` asks the plain rules
about one node, `counts` tells how many nodes were refused and why. `queue/` is about the pods that
wait, `binding/` about the way from a chosen node to bound volumes. `policy` says where we differ
from kube-scheduler, `profiles/` what schedulers of several names are told to do otherwise.
`preemption/` frees a node for a more important pod."""
