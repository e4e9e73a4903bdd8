"""Rules of the kinds that describe the cluster itself, one module for each kind."""
