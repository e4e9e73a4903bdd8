"""Provisioning inside the controller: the operations, and the provisioners that carry them out."""
