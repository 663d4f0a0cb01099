"""Comparison of a schedule with a new definition, within the time limit of a search."""

from __future__ import annotations

from typing import NamedTuple

from kron.apps.compute import upcoming_within_time
from kron.rules.comparison import MAX_COMPARED_RUNS, Comparison, after_edit, compared
from kron.rules.state import ScheduleState
from kron.rules.upcoming import UpcomingDues
from kron.timing.job import Job

COMPARED_MS = 30 * 86_400_000  # milliseconds that are compared if no end is named


class DefinitionEffect(NamedTuple):
    """What a new definition would do.

    Attributes:
        after: State that the schedule would have.
        upcoming: Upcoming runs of that state.
        comparison: Runs that are added, moved and lost.
    """

    after: ScheduleState
    upcoming: UpcomingDues
    comparison: Comparison


async def definition_effect(job: Job, stored: ScheduleState | None, now: int, upto: int) -> DefinitionEffect:
    """Return what a new definition would do to the upcoming runs of a schedule. Nothing is stored.

    Args:
        job: The new definition.
        stored: State of the schedule, also of a deleted one; None if it does not exist.
        now: Current time in milliseconds.
        upto: End of the comparison in milliseconds.

    Raises:
        InvalidSchedule: No schedule text can express the definition.
    """
    after = after_edit(job, stored, now)
    is_new = stored is None or stored.deleted
    old = UpcomingDues([], complete=True) if stored is None or is_new else await _upcoming(stored, now)
    new = await _upcoming(after, now)
    return DefinitionEffect(after, new, compared(old, new, upto))


async def _upcoming(state: ScheduleState, now: int) -> UpcomingDues:
    search = await upcoming_within_time(state, now, MAX_COMPARED_RUNS + 1)
    is_complete = search.complete and len(search.dues) <= MAX_COMPARED_RUNS
    return UpcomingDues(search.dues[:MAX_COMPARED_RUNS], is_complete)
