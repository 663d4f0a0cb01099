"""The HTTP service: a door for teams with a schedule per customer. It wires the parts together and decides nothing."""
