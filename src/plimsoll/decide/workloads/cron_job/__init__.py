"""CronJobs: Jobs that start at the times of a schedule. Start with `cron_job`."""
