"""Which pod is tried next: order, backoff, and which change of the cluster can help which pod."""
