"""Host daemon: `krond` reads krontab files, starts their commands, and records the outcome of every period."""
