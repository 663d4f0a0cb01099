"""Marks of periods: the newest periods of a schedule, each with its outcome, from runs and gap records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import LATE, Look, look_of_outcome, look_of_run
from kron.engine.overview import RecentPeriods
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run

MARKS = 14  # periods that a list shows


class PeriodMark(NamedTuple):
    """One period, and how it ended."""

    at: int  # milliseconds: when it was due; for a period of a gap record about when
    look: Look
    run: Run | None = None


def marks_of(records: RecentPeriods, late_since: int | None = None) -> list[PeriodMark]:
    """Return the newest periods of a schedule, oldest first. A late period is the last one."""
    marks = [PeriodMark(run.due, look_of_run(run), run) for run in records.runs]
    for gap in records.gaps:
        marks += _marks_of_gap(gap)
    marks.sort(key=lambda mark: mark.at)
    return [*marks, *([PeriodMark(late_since, LATE)] if late_since is not None else [])][-MARKS:]


def _marks_of_gap(gap: GapRecord) -> list[PeriodMark]:
    """Return the newest periods of a gap record. It keeps the first, the last and the number of its periods."""
    look, steps = look_of_outcome(gap.outcome, gap.reason), max(1, gap.count - 1)
    ends = [gap.last - number * (gap.last - gap.first) // steps for number in range(min(gap.count, MARKS))]
    return [PeriodMark(at * 1000, look) for at in ends]


def words_of(marks: Sequence[PeriodMark]) -> str:
    """Return the marks in words: `12 succeeded, 2 skipped`."""
    counts = Counter(mark.look.word.lower() for mark in marks)
    return ", ".join(f"{count} {word}" for word, count in counts.items())
