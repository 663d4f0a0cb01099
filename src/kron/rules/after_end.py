"""After the end: a schedule whose last run has ended is deleted, if its policy says so."""

from __future__ import annotations

from kron.rules.action import KRON_ACTOR, ActionKind, ScheduleAction
from kron.rules.draft import PlanBuilder
from kron.timing.schedule.policy import AfterEnd


def deletion_after_end(draft: PlanBuilder, next_check_at: int | None) -> ScheduleAction | None:
    """Return the deletion of a schedule that has neither an open run nor a further period; None if it stays.

    Args:
        draft: The finished decisions of the plan.
        next_check_at: When the schedule must be checked again, in milliseconds; None if nothing will ever be due.
    """
    state = draft.state
    if state.policy.after_end is AfterEnd.KEEP or state.is_inactive or next_check_at is not None:
        return None
    if any(run.open for run in draft.runs.values()):
        return None
    return ScheduleAction(ActionKind.DELETED, draft.now, None, KRON_ACTOR, "the schedule has ended")
