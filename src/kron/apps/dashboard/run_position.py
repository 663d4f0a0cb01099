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
    match = match_position(_POSITION, text)
    return (int(match[1]), match[2]) if match else None


def write_position(position: RunPosition | None) -> str:
    """Return the text of a position; empty without one."""
    return f"{position[0]}-{position[1]}" if position else ""


def match_position(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the match of a text that names a position in some list; None if the text is empty.

    Raises:
        InvalidInput: The text names none.
    """
    match = pattern.fullmatch(text) if text else None
    if text and match is None:
        message = f"{clip(text)!r} is not a position in this list"
        raise InvalidInput("BAD_FIELD", message, hint="use the links of the page")
    return match
