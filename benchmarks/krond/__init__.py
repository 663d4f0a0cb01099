"""Figures of krond next to Debian's cron on the same tables: `make bench-krond`."""
