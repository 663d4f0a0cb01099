"""Observability of the HTTP service: health, readiness and traces."""
