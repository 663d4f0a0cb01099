"""The dashboard at one million schedules: every page over the wire, its queries and plans, and runs next to viewers."""
