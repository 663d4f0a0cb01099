"""Passes of a worker: what one pass has done, and the events that tell about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kron.engine.events import Event, about
from kron.rules.action import ActionKind
from kron.rules.outcome import Reason
from kron.rules.plan import Plan
from kron.rules.run import Run
from kron.rules.run_state import RUNNING
from kron.timing.schedule.policy import MILLISECOND


class Pass(NamedTuple):
    """Result of a pass: the committed plans, and the times that they are based on."""

    plans: list[Plan]
    began: float
    now: int
    pause: int  # milliseconds until the next pass
    examined: int = 0  # schedules that were read or prefetched
    made: bool = True  # False: the clock skew is too large, and nothing was read


def events_of(worker_pass: Pass) -> Iterator[Event]:
    """Yield the events of the runs, gaps and actions that a pass has recorded."""
    for plan in worker_pass.plans:
        for run in plan.new:
            yield about("run_recorded" if run.open else "run_finished", worker_pass.now, run, plan.state.job)
        for old, run in plan.changed:
            limit = _exceeded_limit(plan, old, run)
            yield about("run_recorded" if run.open else "run_finished", worker_pass.now, run, None, **limit)
        if plan.gap:
            gap, identity = plan.gap, plan.state.identity
            facts = {"identity": identity, "first": gap.first, "last": gap.last, "count": gap.count}
            cause = {"outcome": str(gap.outcome), "reason": str(gap.reason)}
            yield Event("gap_recorded", worker_pass.now, facts | cause)
        if plan.action:
            facts = {"identity": plan.state.identity, "actor": plan.action.actor, "note": plan.action.note}
            is_pause = plan.action.kind is ActionKind.PAUSED
            yield Event("schedule_paused" if is_pause else "schedule_deleted", worker_pass.now, facts)


def _exceeded_limit(plan: Plan, old: Run, new: Run) -> dict[str, int]:
    """Return the time limit that a running attempt has exceeded, as a fact; none if it has not."""
    limit = plan.state.job_of(new).schedule.policy.timeout
    has_timed_out = old.state in RUNNING and new.reason is Reason.TIMEOUT
    return {"timeout_ms": limit // MILLISECOND} if has_timed_out and limit is not None else {}


def plans_within(plans: list[Plan], room: int) -> list[Plan]:
    """Return the first plans whose launches fit into `room`. One plan can launch many runs to catch up."""
    if sum(len(each.new) + len(each.changed) for each in plans) <= room:
        return plans
    for number, each in enumerate(plans):
        room -= len(each.launches)
        if room < 0 and number:
            return plans[:number]
    return plans
