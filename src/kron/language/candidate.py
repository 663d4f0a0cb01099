"""Candidate: a text that can replace a foreign one. A hint names it if a dialect accepts it."""

from __future__ import annotations

from typing import NamedTuple

from kron.timing.schedule.dst import WALL, Dst


class Candidate(NamedTuple):
    """Text that can replace a foreign one.

    Attributes:
        text: The text.
        zone: Time zone that the foreign text names; empty if it names none.
        dst: Rule for clock changes of the other scheduler. A hint adds it where a clock change gives other runs.
        dialect: The only dialect for the text; empty if every dialect that accepts it means the same.
        elapsed: Whether the foreign text counts elapsed time, and this one only where the clocks never change.
    """

    text: str
    zone: str = ""
    dst: Dst = WALL
    dialect: str = ""
    elapsed: bool = False
