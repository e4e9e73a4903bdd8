"""Each process of a cluster is killed at each step of each path of a group and of a rollback.

A step is a write to the API server, or a call of a driver that changes something. Start with
`walk`, which goes from step to step: `paths` says what a user does and what must come of it,
`cluster` starts the processes, `api_line` and `csi_line` stand between them and see each step,
`trap` ends one process at the chosen one.
"""
