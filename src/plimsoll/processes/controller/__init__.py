"""The control loops around claims and volumes, and those of a small kube-controller-manager.

Start with `plimsoll.reconcile.loop`, what all loops have in common; `loops` is the table of them,
`main` the process.
"""
