"""What the API server knows of Kubernetes' kinds as data: read by `definitions` and `shapes`."""
