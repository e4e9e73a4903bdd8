"""Rules of the snapshot kinds, served as if their custom resource definitions were installed."""
