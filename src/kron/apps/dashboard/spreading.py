"""Spreading: what windows would do to the minutes of an hour, for the schedule texts that start together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from kron.errors import KronError
from kron.language import parse
from kron.language.canonical import unparse
from kron.language.density import Piece, load, spread
from kron.rules.load import LoadKind
from kron.timing.schedule import Schedule

MAX_EXAMPLES = 500  # schedules whose seconds are computed; texts beyond that number are left as they are
HOUR_SECONDS, MINUTES = 3_600, 60


class SpreadKind(NamedTuple):
    """Schedule text that a window would spread.

    Attributes:
        text: The text.
        schedules: How many schedules have it.
        spread_text: The text with a window.
        busiest: Their runs in the busiest minute of this hour, with the window.
    """

    text: str
    schedules: int
    spread_text: str
    busiest: int


class Spreading(NamedTuple):
    """Minutes of an hour with windows, and the texts that would be spread, most schedules first."""

    runs: list[int]
    kinds: list[SpreadKind]


def spreading_of(runs: Sequence[int], kinds: Sequence[LoadKind], hour: int) -> Spreading:
    """Return the minutes of an hour as windows would spread them.

    The window of a text is that of `kron spread`. The second of a run follows from the name of its schedule, and the
    counters have no names. So the seconds are those of as many schedules with example names.

    Args:
        runs: Runs of each minute.
        kinds: Texts of these runs, most runs first.
        hour: Begin of the hour in seconds.
    """
    after, found, left = list(runs), list[SpreadKind](), MAX_EXAMPLES
    for kind in kinds:
        schedule = _schedule(kind.text)
        if schedule is None:
            continue
        example, count = spread(Piece(schedule, "example"), "windows"), kind.busiest
        if example.schedule == schedule or not 1 < count <= left:
            continue
        own = _minutes([Piece(schedule, "example")], hour)
        if count * sum(own) != kind.runs or max(own) != 1:  # with jitter, or some schedules were paused in between
            continue
        spread_runs = _minutes([Piece(example.schedule, f"example-{number}") for number in range(count)], hour)
        after = [now - count * old + new for now, old, new in zip(after, own, spread_runs, strict=True)]
        found.append(SpreadKind(kind.text, count, unparse(example.schedule), max(spread_runs)))
        left -= count
    return Spreading(after, sorted(found, key=lambda kind: -kind.schedules))


def _schedule(text: str) -> Schedule | None:
    """Return the schedule of a canonical text; None if it is not a text of the dialect `kron`."""
    with suppress(KronError):
        return parse(text, dialect="kron")
    return None


def _minutes(pieces: Sequence[Piece], hour: int) -> list[int]:
    counts = load(pieces, hour, hour + HOUR_SECONDS).runs
    return [counts[hour + minute * 60] for minute in range(MINUTES)]
