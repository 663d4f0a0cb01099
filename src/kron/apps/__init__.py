"""The doors: each wires the rest together and decides nothing."""
