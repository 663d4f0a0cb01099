"""Debian package of krond: `make deb`."""
