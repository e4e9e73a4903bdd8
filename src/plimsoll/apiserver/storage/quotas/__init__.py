"""What quotas count: `tallies` keeps it, `quota_status` shows it."""
