"""ResourceQuota: which objects count, what they use, and what is refused."""
