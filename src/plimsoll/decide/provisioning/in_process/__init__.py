"""Provisioning by the controller itself: `provision` decides which provisioner gets a claim and
what follows from its answer; `intents` what becomes of calls that were begun; `unrecorded_assets`
looks after claims that an earlier version left."""
