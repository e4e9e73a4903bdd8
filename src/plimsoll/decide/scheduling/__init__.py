"""Where a pod can go, judged the way kube-scheduler judges: one plain rule per reason.

Start with `reasons`, what a rule answers, and `view`, what it looks at. `claims` sorts a pod's
claims; `volume_binding`, `volume_limits`, `volume_zone` and `volume_restrictions` judge nodes by
them, `scorer` compares nodes; `assumptions` and `bind_volumes` carry a choice out. `requests`,
`queue_order`, `backoff` and `wakeups` are about the pods that wait."""
