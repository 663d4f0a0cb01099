"""HTTP service, for teams with a schedule per customer. It wires the parts together and holds no scheduling rules."""
