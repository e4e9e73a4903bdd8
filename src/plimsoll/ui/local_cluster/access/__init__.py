"""Who the parts of a local cluster are to its API server, and what they may do there.

`identities` names a user for each part, `roles` says what it may do, and `credentials` writes the
kubeconfig by which a process shows who it is.
"""
