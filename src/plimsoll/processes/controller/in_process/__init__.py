"""Provisioning inside the controller. `provisioning` and `reclaiming` are the operations;
`operations` runs one at a time for each volume; `provisioners/` carry them out."""
