"""NodeRestriction: a kubelet writes about its own node and the pods on it, and nothing else.

`plugin` is what the chain calls; the other modules have the rules for what kubelets write most.
"""
