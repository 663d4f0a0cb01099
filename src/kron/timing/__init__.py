"""When a schedule runs: Schedule, Period, Decision. Pure functions and values, without I/O and clocks."""
