"""Provisioning by the controller itself: `provision` decides which provisioner gets a claim and
what follows from its answer; `unrecorded_assets` deletes what was created and never recorded."""
