"""Debian's cron, built from its source with a clock of its own, compared with the vixie reader: `make debian-cron`."""
