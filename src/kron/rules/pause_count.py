"""Count of the periods that a pause of many schedules drops. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kron.rules.counters import without_max_runs
from kron.rules.pause import passes_during_pause, pause_expired_update
from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming


class PauseCount(NamedTuple):
    """How many schedules a pause changes, and how many of their periods pass during it.

    Attributes:
        schedules: Schedules that are not paused in this way already.
        periods: Periods that pass, at most as many as are counted.
        more: Whether there can be more periods.
    """

    schedules: int
    periods: int
    more: bool


def pause_count(
    states: Sequence[ScheduleState],
    now: int,
    until: int | None,
    upto: int,
    limit: int,
    enough: Callable[[], bool] = lambda: False,
) -> PauseCount:
    """Return what a pause of several schedules does to the periods that are due until `upto`.

    A schedule that is paused already counts with no periods: these pass without the new pause, too.

    Args:
        states: States of the schedules.
        now: Current time in milliseconds.
        until: When the pause ends, in milliseconds; None: when it is resumed.
        upto: Latest due time of counted periods in milliseconds.
        limit: Maximum number of periods.
        enough: Called before each step of a search; the count ends when it returns True.
    """
    current = [pause_expired_update(state).after if state.pause_expired(now) else state for state in states]
    changed = [state for state in current if not (state.paused and state.paused_until == until)]
    periods = 0
    for state in changed:
        if state.paused:
            continue
        if periods >= limit or enough():
            return PauseCount(len(changed), periods, more=True)
        owed = without_max_runs(state) if state.runs_left else state  # skipped runs do not use up `max_runs`
        search = search_upcoming(owed, now, limit - periods + 1, enough, until=upto)
        periods += sum(passes_during_pause(state, due, until) for due in search.dues)
        if periods > limit or not search.complete:
            return PauseCount(len(changed), min(periods, limit), more=True)
    return PauseCount(len(changed), periods, more=False)
