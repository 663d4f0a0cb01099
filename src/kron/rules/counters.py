"""Counters of a schedule: its scheduled runs, for `max_runs`, and its failed runs in a row, for `pause_on_failure`.

A schedule without these axes counts nothing. Both counters are written with the runs that they count, in one commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kron.rules.action import KRON_ACTOR, ActionKind, ScheduleAction
from kron.rules.draft import PlanBuilder
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.timing.schedule.policy import Policy

_COUNTED_ENDS = {State.FAILED: True, State.SUCCESS: False}


def counted_runs(policy: Policy, new: Iterable[Run]) -> int:
    """Return how many of the runs that are recorded count for `max_runs`: scheduled runs that are to be launched."""
    return 0 if policy.max_runs is None else sum(_counts(run) for run in new)


def last_allowed(draft: PlanBuilder) -> tuple[int, int] | None:
    """Return due time and period of the last run that `max_runs` allows; None if the draft has no later run."""
    left = draft.state.runs_left
    if left is None:
        return None
    recorded_keys = {run.key for run in draft.state.open_runs}
    new = sorted((run.due, run.nominal, _counts(run)) for run in draft.runs.values() if run.key not in recorded_keys)
    for due, nominal, counts in new:
        left -= counts
        if not left:
            return None if (due, nominal) == new[-1][:2] else (due, nominal)
    return None


def _counts(run: Run) -> bool:
    return run.open and not run.trigger


def failed_end(run: Run, policy: Policy) -> bool | None:
    """Return how a run counts for `pause_on_failure`: True for a failure, False for a success, None if it does not.

    Args:
        run: The run after the write.
        policy: Policy of the revision under which the run was recorded.
    """
    return None if policy.pause_on_failure is None else _COUNTED_ENDS.get(run.state)


def with_end(state: ScheduleState, run: Run, failed: bool) -> ScheduleState:
    """Return the state after the end of a run. Runs of older revisions do not count."""
    if run.revision != state.revision:
        return state
    return state._replace(failure_count=state.failure_count + 1 if failed else 0)


def with_ends(state: ScheduleState, changed: Iterable[tuple[Run, Run]]) -> ScheduleState:
    """Return the state after changes of its runs, each with the run before and after."""
    for _, run in changed if state.policy.pause_on_failure is not None else ():
        failed = failed_end(run, state.policy)
        state = state if failed is None else with_end(state, run, failed)
    return state


def pause_after_failures(draft: PlanBuilder) -> ScheduleAction | None:
    """Return the pause of a schedule with as many failed runs in a row as its policy allows; None if it goes on."""
    state, limit = draft.state, draft.state.policy.pause_on_failure
    if limit is None or state.paused or state.deleted:
        return None
    changes = [(run, draft.runs[run.key]) for run in state.open_runs]
    count = with_ends(state, changes).failure_count
    if count < limit:
        return None
    note = "1 run failed" if count == 1 else f"{count:,} runs failed in a row"
    return ScheduleAction(ActionKind.PAUSED, draft.now, None, KRON_ACTOR, note)


def without_max_runs(state: ScheduleState) -> ScheduleState:
    """Return the state with a policy that does not limit the number of runs."""
    schedule = state.job.schedule
    return state._replace(
        job=replace(state.job, schedule=replace(schedule, policy=replace(schedule.policy, max_runs=None)))
    )


def over_reason(state: ScheduleState) -> str:
    """Return that a schedule has had all runs of `max_runs`; empty if it has more, or no limit."""
    limit: Any = state.policy.max_runs
    if state.runs_left != 0:
        return ""
    return "the schedule has had its 1 run" if limit == 1 else f"the schedule has had its {limit:,} runs"
