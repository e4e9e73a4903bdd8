"""Where a pod wants to run: affinity, spreading, tolerations."""
