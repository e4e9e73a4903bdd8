"""What becomes of nodes that fall silent, and of the pods on them.

Start with `survey`, one look at all nodes; `health` says what a silent node's status becomes,
`taints` which taints a node has, `zones` how fast nodes are given up, `eviction` when a taint ends
a pod.
"""
