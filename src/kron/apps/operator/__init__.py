"""Kubernetes operator: KronJobs become schedules, and runs become Jobs."""
