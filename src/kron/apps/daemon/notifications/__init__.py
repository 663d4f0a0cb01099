"""Notifications of the daemon: mail and programs that learn of failed, missed, late and recovered runs, and output."""
