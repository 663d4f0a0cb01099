"""Reading of a text by all dialects. It succeeds only if the dialects that accept the text agree on its meaning."""

from __future__ import annotations

from itertools import islice

from kron.language.agreement import readings
from kron.language.dialect import TABLE, split_name
from kron.language.door import Door
from kron.language.fault import Fault
from kron.language.opinion import in_words
from kron.language.options import Options
from kron.language.reading import Reading, read
from kron.timing.period import nominals
from kron.timing.schedule import Schedule
from kron.timing.zone import rfc3339

SHOWN_TIMES = 3


def read_by_all(text: str, options: Options, after: int, *, default: str, door: Door) -> Reading:
    """Read a text by all dialects.

    A text that names its dialect is read in that dialect. A text that no dialect accepts gets the error of `default`.

    Args:
        text: The text.
        options: Options of the reading.
        after: Instant after which the error shows times, in seconds since 1970-01-01 UTC.
        default: Dialect whose error is raised if no dialect accepts the text.
        door: Interface that received the text.

    Raises:
        LanguageError: No dialect accepts the text, or two dialects give it different meanings (`AMBIGUOUS`).
    """
    if split_name(text):
        return read(text, None, options, door=door)
    groups = readings(text, options)
    if len(groups) > 1:
        raise _ambiguous(text, groups, after).within(text)
    if not groups:
        return read(text, default, options, door=door)
    return read(text, next(iter(groups[0])), options, door=door)  # again, with the real identity


def _ambiguous(text: str, groups: list[dict[str, Schedule]], after: int) -> Fault:
    """Return the fault with one line for each meaning: what to write, the meaning, and its next times."""
    lines = []
    for group in groups:
        name, schedule = next(iter(group.items()))
        times = ", ".join(rfc3339(nominal) for nominal in islice(nominals(schedule, after), SHOWN_TIMES))
        lines.append(f'write "{name}: {text.strip()}" for "{in_words(text, TABLE[name], schedule)}": {times}')
    names = [name for group in groups for name in group]
    message = f"dialects disagree about this text: it has {len(groups)} meanings"
    return Fault("AMBIGUOUS", message, 0, len(text), "\n".join(lines), {"read_by": names})
