"""Launchers: each launches the runs of one kind of target. The scheme of a target names the module."""
