"""Where a pod can go, judged the way kube-scheduler judges: one plain rule per reason.

Start with `reasons`, what a rule answers, and `view`, what it looks at. `claims` sorts a pod's
claims; `volume_binding` (with `provisioning`), `volume_limits`, `volume_zone` and
`volume_restrictions` judge nodes by them, and `scorer` compares nodes. `bind_volumes` carries a
choice out, `assumptions` believe in it meanwhile, `wait_for_volumes` tells when it came true.
`requests`, `queue_order`, `backoff` and `wakeups` are about the pods that wait."""
