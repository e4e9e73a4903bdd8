"""The sidecar between one CSI driver and the API server, in csi-provisioner's place.

Start with `main`, which puts it together in csi-provisioner's order; what is decided is in
`plimsoll.decide.provisioning` and `plimsoll.decide.capacity`.
"""
