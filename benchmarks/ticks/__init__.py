"""Ticks a second on a real PostgreSQL that syncs every commit, beside bare statements that decide nothing."""
