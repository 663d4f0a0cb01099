"""Rules: pure functions that compute a plan from the state of a schedule and the current time."""
