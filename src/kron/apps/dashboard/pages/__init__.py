"""Pages of the dashboard, one file each."""
