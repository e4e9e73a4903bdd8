"""kube-scheduler's VolumeBinding: the volumes a pod would get on a node.

`plain` is the rule for one node and `delayed` the same for all nodes at once. `claims` sorts a
pod's claims, `provisioning` and `provisioning_columns` judge volumes to be provisioned,
`static_matching` and `assignment` match volumes that exist, `score` and `score_columns` compare
nodes.
"""
