"""Provisioning for claims: what begins an attempt, brings it to an end, and records its volume.

Start at `loop`, which decides what is to be done for a claim. `attempts` asks the driver,
`unsaved_volumes` records what it made, `begun_calls` and `given_up` settle what is not wanted.
"""
