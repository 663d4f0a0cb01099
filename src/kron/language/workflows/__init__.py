"""Workflow files: the schedules that they say, and the cron lines that are written into them."""
