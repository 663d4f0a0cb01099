"""Debian's cron next to `krond --shadow`, in real time: `make krond-shadow`."""
