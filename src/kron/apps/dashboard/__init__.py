"""Dashboard: pages that show what ran, what will run, and why not."""
