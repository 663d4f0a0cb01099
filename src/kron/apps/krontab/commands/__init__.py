"""Commands of `krontab`, one per module."""
