"""VolumeBinding: the volumes a pod would get on a node.

Start with `filter`, the rule as a whole. `claims` sorts a pod's claims. `bound_claims` are judged
by where their volumes can be reached, `delayed_claims` by what they would get, in
`delayed_binding`: existing volumes by `static_matching` and `assignment`, new ones by
`provisioning`. `score` compares nodes. `capacity_use` and `shortage` are for metrics and events."""
