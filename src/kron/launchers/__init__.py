"""The launchers: each starts runs of one kind of target. The scheme of a target names the file."""
