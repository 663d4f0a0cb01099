"""Comparison of a schedule with a new definition: the upcoming runs that would be added, moved and lost."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.edit import defined
from kron.rules.pause import NO_ACTOR, pause_expired_update
from kron.rules.state import ScheduleState
from kron.rules.upcoming import UpcomingDues
from kron.timing.due import Due
from kron.timing.job import Job

MAX_COMPARED_RUNS = 1_000  # upcoming runs of each definition


class Comparison(NamedTuple):
    """Effect of a new definition on the upcoming runs. A run moves if both definitions have its period."""

    added: list[Due]
    moved: list[tuple[Due, Due]]  # before and after
    lost: list[Due]
    upto: int  # milliseconds: as far as both lists of runs reach


def after_edit(job: Job, state: ScheduleState | None, now: int) -> ScheduleState:
    """Return the state that a schedule would have after it is defined as `job`. A pause stays.

    Raises:
        InvalidSchedule: No schedule text can express the definition.
    """
    if state is not None and state.pause_expired(now):
        state = pause_expired_update(state).after
    update = defined(job, state, now, NO_ACTOR)
    if update is not None:
        return update.after
    assert state is not None  # noqa: S101  a schedule that does not exist yet always has an update
    return state


def compared(before: UpcomingDues, after: UpcomingDues, upto: int) -> Comparison:
    """Return the differences between the upcoming runs of two definitions.

    Args:
        before: Upcoming runs of the present definition; none if there is none.
        after: Upcoming runs of the new definition.
        upto: End of the comparison in milliseconds. A list that is not complete ends the comparison at its last run.
    """
    ends = [search.dues[-1].at for search in (before, after) if search.dues and not search.complete]
    last = min([upto, *ends])
    old, new = ({due.nominal: due for due in search.dues if due.at <= last} for search in (before, after))
    moved = [(old[nominal], due) for nominal, due in new.items() if nominal in old and old[nominal].at != due.at]
    added = [due for nominal, due in new.items() if nominal not in old]
    return Comparison(added, moved, [due for nominal, due in old.items() if nominal not in new], last)
