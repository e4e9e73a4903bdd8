"""Jobs: pods that run to completion, each counted once. Start with `job`."""
