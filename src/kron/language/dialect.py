"""Dialects: the one table of the grammars in which a schedule text can be written.

To add a dialect, write its module with a function `read_schedule(text, options)`. Then add here a function that imports
it, a line of the table, and the name. The module is imported when a text is first read in the dialect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from kron.errors import InvalidSchedule, clip, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kron.language.options import Options
    from kron.timing.schedule import Schedule

    Reader = Callable[[str, Options], Schedule]

DialectName = Literal[
    "posix", "service", "kron", "fuzzy", "plus", "vixie", "quartz", "aws", "jenkins", "rrule", "placeholder"
]
AUTO = "auto"  # command line only: every dialect reads the text, and the readings must agree

_NAME = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9_-]*):[ \t]+")


class Dialect(NamedTuple):
    """Grammar of schedule texts.

    Attributes:
        name: Name of the dialect.
        summary: What its texts look like, in one line.
        load: Function that imports and returns the reader of the dialect.
        stored: Whether its texts are stored as source texts. A text of another dialect is stored in canonical form.
        sentences: Whether its texts are sentences, which need no description in words.
        needs_identity: Whether the times of a text depend on the identity of the job.
    """

    name: DialectName
    summary: str
    load: Callable[[], Reader]
    stored: bool = True
    sentences: bool = False
    needs_identity: bool = False

    def read(self, text: str, options: Options) -> Schedule:
        """Read a text.

        Raises:
            Fault: The text is invalid.
            InvalidSchedule: An option is invalid.
        """
        return self.load()(text, options)


def _posix() -> Reader:
    from kron.language.posix import read_schedule

    return read_schedule


def _service() -> Reader:
    from kron.language.service import read_schedule

    return read_schedule


def _kron() -> Reader:
    from kron.language.kron import read_schedule

    return read_schedule


def _fuzzy() -> Reader:
    from kron.language.sentences.read import read_schedule

    return read_schedule


def _plus() -> Reader:
    from kron.language.plus import read_schedule

    return read_schedule


def _vixie() -> Reader:
    from kron.language.foreign.vixie import read_schedule

    return read_schedule


def _quartz() -> Reader:
    from kron.language.foreign.quartz import read_schedule

    return read_schedule


def _aws() -> Reader:
    from kron.language.foreign.aws import read_schedule

    return read_schedule


def _jenkins() -> Reader:
    from kron.language.foreign.jenkins import read_schedule

    return read_schedule


def _rrule() -> Reader:
    from kron.language.foreign.rrule import read_schedule

    return read_schedule


def _placeholder() -> Reader:
    from kron.language.sentences.resolver import read_schedule

    return read_schedule


TABLE: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("posix", "five fields of numbers, ranges and lists", _posix),
        Dialect("service", "five fields, or six with the seconds first", _service),
        Dialect("kron", "five fields, then modifiers such as @tz and @win", _kron),
        Dialect("fuzzy", "a sentence such as daily around 14:00", _fuzzy, sentences=True, needs_identity=True),
        Dialect("plus", "kron with at, every, L, W, #, @days, @dst and @valid", _plus),
        Dialect("vixie", "a line of Debian's cron, without the command", _vixie, stored=False),
        Dialect("quartz", "six or seven fields of Quartz", _quartz, stored=False),
        Dialect("aws", "cron(...), rate(...) or at(...) of EventBridge", _aws, stored=False),
        Dialect("jenkins", "five fields with H, as in Jenkins", _jenkins, stored=False, needs_identity=True),
        Dialect("rrule", "DTSTART and RRULE of iCalendar", _rrule, stored=False),
        Dialect("placeholder", "FUZZY:DAILY * * *", _placeholder, stored=False, needs_identity=True),
    )
}
DIALECTS = tuple(TABLE)
ZONE_NAMING = ("kron", "plus")  # dialects in which a text can name its time zone, with `@tz`


class NamedText(NamedTuple):
    """Text that names its dialect: `fuzzy: daily around 14:00`."""

    dialect: str
    text: str
    start: int  # index of `text` in the whole text


def split_name(text: str) -> NamedText | None:
    """Return the dialect and the text of a text that names its dialect; None if it names none.

    No dialect accepts a first word that ends in a colon, so a text that names no dialect is never split.
    """
    match = _NAME.match(text)
    if not match or match[1] not in TABLE:
        return None
    return NamedText(match[1], text[match.end() :], match.end())


def unknown_name(text: str) -> str:
    """Return the first word of a text that looks like the name of a dialect and is not; empty if there is none."""
    match = _NAME.match(text)
    return match[1] if match and match[1] not in TABLE else ""


def dialect_of(name: str) -> Dialect:
    """Return the dialect of a name.

    Raises:
        InvalidSchedule: The name is unknown.
    """
    dialect = TABLE.get(name)
    if dialect is None:
        raise unknown_dialect(name, TABLE)
    return dialect


def unknown_dialect(name: str, known: Collection[str]) -> InvalidSchedule:
    """Return the error of a name that is no known dialect."""
    hint = did_you_mean(name, known, f"use one of {', '.join(known)}")
    return InvalidSchedule("UNKNOWN_DIALECT", f"unknown dialect {clip(name)!r}", hint=hint)
