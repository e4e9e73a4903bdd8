"""Provisioning for claims: what begins an attempt, brings it to an end, and records its volume.

Start at `loop`, which decides what is to be done for a claim. `attempts` calls the driver,
`unsaved_volumes` records the volume, `begun_calls` and `given_up` settle what is not wanted.
"""
