"""Readers of schedule texts that other schedulers use. Each reads a text into a Schedule.

Such a text is never stored: a schedule that a reader returns is shown and stored by its canonical text, in the kron,
service or plus dialect.
"""
