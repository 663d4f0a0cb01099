"""Integrations: Kron inside other frameworks."""
