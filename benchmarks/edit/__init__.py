"""Very many schedules: how fast they are loaded, and how fast one of them is edited."""
