"""Run position: a place in a list of runs, as the address of a page names it."""

from __future__ import annotations

import re

from kron.errors import InvalidInput, clip

RunPosition = tuple[int, str]  # time by which the list is ordered, and key of the last run shown
_POSITION = re.compile(r"([0-9]{1,15})-([0-9a-f]{64})")


def read_position(text: str) -> RunPosition | None:
    """Return the position that a text names; None if the text is empty.

    Raises:
        InvalidInput: The text names none.
    """
    if not text:
        return None
    match = _POSITION.fullmatch(text)
    if match is None:
        raise bad_position(text)
    return int(match[1]), match[2]


def write_position(position: RunPosition | None) -> str:
    """Return the text of a position; empty without one."""
    return f"{position[0]}-{position[1]}" if position else ""


def bad_position(text: str) -> InvalidInput:
    """Return the error of a text that names no position."""
    return InvalidInput("BAD_FIELD", f"{clip(text)!r} is not a position in this list", hint="use the links of the page")
