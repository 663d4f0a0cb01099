"""Lines of a crontab: a variable, or a schedule with a user and a command."""

from __future__ import annotations

import re
from typing import NamedTuple

from kron.errors import clip
from kron.language.fault import Fault

# cron takes a line with an equals sign after its first word as a variable. Quotes around a name or a value are removed.
_VARIABLE = re.compile(
    r"""[ \t]*+(?:"([^"=]++)"|'([^'=]++)'|([^\s="']++))[ \t]*+="""
    r"""[ \t]*+(?:"([^"]*+)"[ \t]*+|'([^']*+)'[ \t]*+|((?!["']).*+))"""
)
_SCHEDULE = re.compile(r"[ \t]*(-?)(@[A-Za-z_]+|[^\s@]\S*(?:[ \t]+\S+){4})(?=[ \t]|$)")
_WORD = re.compile(r"[ \t]*(\S+)")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*\$?")


class Variable(NamedTuple):
    """Variable of a crontab, and the index at which its value begins."""

    name: str
    value: str
    start: int


class Entry(NamedTuple):
    """Line that runs a command.

    Attributes:
        schedule: Five fields or a macro, as written.
        start: Index of the schedule in the line.
        user: User that runs the command.
        command: Rest of the line, as written.
        is_quiet: Whether a `-` before the schedule tells cron not to log the runs.
    """

    schedule: str
    start: int
    user: str
    command: str
    is_quiet: bool


def read_variable(text: str) -> Variable | None:
    """Return the variable that a line sets; None if the line is not a variable."""
    match = _VARIABLE.fullmatch(text)
    if not match:
        return None
    name = next(group for group in match.group(1, 2, 3) if group is not None)
    number = next(number for number in (4, 5, 6) if match[number] is not None)
    value = match[number] if number < 6 else match[number].rstrip(" \t")
    return Variable(name, value, match.start(number))


def read_entry(text: str, user: str | None) -> Entry:
    """Parse a line that runs a command.

    Args:
        text: The line, without its line feed.
        user: User that owns the crontab; None if each line has a user column.

    Raises:
        Fault: The line is not a crontab line.
    """
    match = _SCHEDULE.match(text)
    if not match:
        hint = "write five fields, a user and a command" if user is None else "write five fields and a command"
        raise Fault("NOT_A_CRONTAB", "line is not a crontab entry", 0, len(text), hint)
    position = match.end()
    if user is None:
        user, position = _read_user(text, position)
    command = text[position:].lstrip(" \t")
    if not command:
        end = len(text.rstrip(" \t"))
        raise Fault("NOT_A_CRONTAB", "line has no command", end, end + 1, "add the command")
    return Entry(match[2], match.start(2), user, command, bool(match[1]))


def _read_user(text: str, position: int) -> tuple[str, int]:
    """Return the user column at a position, and the position after it."""
    word = _WORD.match(text, position)
    if not word:
        end = len(text.rstrip(" \t"))
        raise Fault("NOT_A_CRONTAB", "line has no user and no command", end, end + 1, "add the user and the command")
    if not _USER.fullmatch(word[1]):
        hint = "read a crontab without a user column with --user NAME"
        raise Fault("NOT_A_CRONTAB", f"{clip(word[1])!r} is not a user", word.start(1), word.end(1), hint)
    return word[1], word.end()
