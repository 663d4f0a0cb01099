"""Kubernetes API: requests, a local copy of its objects, and the names of Jobs. It knows no schedules."""
