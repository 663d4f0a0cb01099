"""Latest return: until when a run that is not sent can wait, so that the wait costs neither this run nor the next."""

from __future__ import annotations

from itertools import count

from kron.engine.claim import Claim
from kron.rules.launch_result import last_launch
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.upcoming import search_upcoming
from kron.timing.schedule.policy import Overlap, Policy

SEND_MARGIN_MS = 2_000  # milliseconds before such a moment that a run must be free to be claimed and sent
MAX_STEPS = 200  # steps of the search for the next period; beyond them, the next period is taken to be near


def before_deadline(claim: Claim) -> int | None:
    """Return until when a run can wait for its deadline; None if it has none.

    Without a deadline, a run is given up after failed attempts only. So is a run that was executed before.
    """
    run, policy = claim.run, claim.job.schedule.policy
    return None if run.outcome is not None or policy.deadline is None else last_launch(run, policy) - SEND_MARGIN_MS


def latest_return(claim: Claim, now: int, until: int) -> int:
    """Return until when a run can wait: until `until`, its deadline or the next period of its schedule.

    A run that waits is active: the overlap policy can skip the next period for it, or replace it by the next period. If
    another run was skipped for it already, this run cannot wait.
    """
    deadline, state = before_deadline(claim), claim.plan.state
    latest = until if deadline is None else min(until, deadline)
    if latest <= now or not _excludes_others(state.policy):
        return latest
    others = _other_runs(claim)
    if any(run.reason is Reason.OVERLAP for run in others):
        return now
    waiting = (max(run.due, run.not_before) for run in others if run.state is State.PENDING)
    latest = min(latest, min(waiting, default=latest + SEND_MARGIN_MS) - SEND_MARGIN_MS)
    steps = count()
    found = search_upcoming(state, now, 1, enough=lambda: next(steps) >= MAX_STEPS, until=latest + SEND_MARGIN_MS)
    if not found.dues:
        return latest if found.complete else now
    return min(latest, found.dues[0].at - SEND_MARGIN_MS)


def _other_runs(claim: Claim) -> list[Run]:
    """Return the other runs of the schedule that are open, or that the plan has ended."""
    plan = claim.plan
    planned = (*plan.new, *(run for _, run in plan.changed))
    after = {run.key: run for run in (*plan.state.open_runs, *planned)}
    return [run for key, run in after.items() if key != claim.run.key]


def _excludes_others(policy: Policy) -> bool:
    """Return whether an active run can cost another run of its schedule."""
    return policy.overlap not in (Overlap.ALLOW, Overlap.QUEUE) or policy.overlap_limit is not None
