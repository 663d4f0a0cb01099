"""Plan of a pause: the periods that would pass during it, and the first run after it. Nothing is written."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.counters import without_max_runs
from kron.rules.pause import NO_ACTOR, passes_during_pause, pause_expired_update, paused
from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming, upcoming
from kron.timing.due import Due, window_extent
from kron.timing.zone import LATEST

MAX_PERIODS_SEARCHED = 1_000  # upcoming periods that are looked at


class PausePlan(NamedTuple):
    """What a pause would do to the upcoming periods of a schedule."""

    periods: list[Due]  # periods that fall due during the pause or are dropped by it, in the order of their due times
    more: bool  # there are more of them
    first_after: Due | None  # first run that is due after the pause; None if the pause has no end, or no run follows


def pause_plan(state: ScheduleState, now: int, until: int | None, limit: int) -> PausePlan:
    """Return what a pause until `until` (milliseconds) would do. The pause is not made.

    Periods that no second satisfies are left out: they never run. A schedule that is paused already is treated as if it
    were not: the plan has all periods from now on.

    Args:
        state: State of the schedule.
        now: Current time in milliseconds.
        until: When the pause ends; None: when it is resumed.
        limit: Maximum number of periods.

    Raises:
        InvalidInput: `until` is not in the future.
    """
    if state.pause_expired(now):
        state = pause_expired_update(state).after
    active = state._replace(paused=False, paused_until=None)
    update = paused(active, now, until, NO_ACTOR)
    assert update is not None  # noqa: S101  an active schedule can always be paused
    last_due = LATEST * 1000 if until is None else until + window_extent(state.job)[1] * 1000
    owed = without_max_runs(active) if active.runs_left else active  # runs that are skipped do not use up `max_runs`
    search = search_upcoming(owed, now, MAX_PERIODS_SEARCHED, until=last_due)
    passed = [due for due in search.dues if passes_during_pause(state, due, until)]
    is_cut = len(search.dues) == MAX_PERIODS_SEARCHED or not search.complete
    following = upcoming(update.after, now, 1)
    return PausePlan(passed[:limit], is_cut or len(passed) > limit, following[0] if following else None)
