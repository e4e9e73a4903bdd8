"""What `kubectl get` shows: one module per family of kinds; start reading at `tables`."""
