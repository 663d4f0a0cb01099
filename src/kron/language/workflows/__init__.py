"""Workflow files: the schedules in them, and the cron lines that Kron writes into them."""
