"""What the targets saw, against what the record says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.timing.schedule.policy import Overlap
from tests.simulation.history import Execution, History
from tests.simulation.replay import Replay, active, is_open

DECLARED = {State.LOST, State.UNKNOWN, State.CANCELLED}


def of_history(history: History, replay: Replay, *, wild: bool) -> Iterator[str]:
    """Where the world and the record disagree."""
    told = _told(history)
    runs = {run.key: run for story in replay.stories.values() for run in story.runs.values()}
    begun: dict[str, list[Execution]] = defaultdict(list)
    for execution in history.executions:
        begun[execution.key].append(execution)
    yield from _unrecorded(history, told)
    yield from _withheld(history, told)
    delivered = {d.key for d in history.deliveries}
    departed = {key for key, _ in history.departed}
    for key, run in runs.items():
        yield from _of_run(run, begun.get(key, []), key in delivered, told[key], wild)
        if run.state is State.UNKNOWN and key not in departed:
            yield from _never_left(run, told[key], history)
    if not wild:
        yield from _overlaps(history, told)


class _Told:
    """The states of one run, and when each was written."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, Run]] = []
        self.started: list[tuple[float, Overlap]] = []  # each start that was not one more try, and under what policy

        self.accepted = float("inf")  # when it was finished by being accepted: its target may be at it all the same

    def declared(self, at: float) -> bool:
        ends = (t for t, run in self.steps if run.state in DECLARED or run.reason is Reason.TIMEOUT)
        return self.accepted <= at or any(t <= at for t in ends)


def _told(history: History) -> dict[str, _Told]:
    told: dict[str, _Told] = defaultdict(_Told)
    for write in history.writes:
        for _, run in write.runs:
            one = told[run.key]
            last = one.steps[-1][1] if one.steps else None
            if active(run) and isinstance(write.what, ScheduleUpdate):
                overlap = write.what.after.policy.overlap
                again = last is not None and active(last)  # one more try: that may be beside others where allowed
                if not again or overlap is Overlap.ALLOW:
                    one.started.append((write.at, overlap))
            one.steps.append((write.at, run))
            if isinstance(write.what, RunUpdate) and write.who.startswith("w") and run.state is State.SUCCESS:
                one.accepted = write.at
    return told


def _unrecorded(history: History, told: dict[str, _Told]) -> Iterator[str]:
    for d in history.deliveries:
        claims = [(at, r) for at, r in told[d.key].steps if r.state is State.LAUNCHING and at <= d.at]
        if not any((r.attempt, r.owner) == (d.attempt, d.owner) for _, r in claims):
            yield f"sent before it was recorded: {d.key[:8]} #{d.attempt} by {d.owner}"


def _withheld(history: History, told: dict[str, _Told]) -> Iterator[str]:
    """Attempts that were sent, and that the record counts as withheld."""
    for key, one in told.items():
        for (_, before), (_, run) in pairwise(one.steps):
            if run.unsent > before.unsent and (key, before.attempt) in history.departed:
                yield f"withheld, says the record, but it was sent: {key[:8]} #{before.attempt} by {before.owner}"


def _of_run(run: Run, begun: list[Execution], delivered: bool, told: _Told, wild: bool) -> Iterator[str]:
    about = f"{run.identity} {run.nominal} ({run.key[:8]})"
    if run.outcome is Outcome.EXECUTED and run.reason is not Reason.UNKNOWN and not delivered:
        yield f"executed, says the record, but its target never saw it: {about}"
    if run.outcome in (Outcome.SKIPPED, Outcome.MISSED, Outcome.UNSCHEDULABLE) and begun:
        yield f"{run.outcome}, says the record, but its target ran it: {about}"
    again = sum(r.state is State.LAUNCHING and r.outcome is not None for _, r in told.steps)
    if len(begun) > 1 + again:
        yield f"ran {len(begun)} times: {about}"
    end = next((at for at, r in told.steps if not is_open(r)), None)
    if end is not None and not wild and any(e.start > end + 0.001 for e in begun):
        yield f"ran after its end was recorded: {about}"


def _never_left(run: Run, told: _Told, history: History) -> Iterator[str]:
    """Unknown, and nothing was ever sent: only where the worker that had claimed it could not say so."""
    claims = [(at, r) for at, r in told.steps if r.state is State.LAUNCHING]
    end = told.steps[-1][0]
    if claims and not history.health.spells(claims[-1][1].owner, claims[-1][0] - 1, end):
        yield f"unknown, but it was never sent: {run.identity} {run.nominal} ({run.key[:8]})"


def _overlaps(history: History, told: dict[str, _Told]) -> Iterator[str]:
    by_schedule: dict[str, list[Execution]] = defaultdict(list)
    for execution in history.executions:
        by_schedule[execution.identity].append(execution)
    for executions in by_schedule.values():
        going: list[Execution] = []
        for later in sorted(executions, key=lambda e: e.start):
            going = [e for e in going if e.end is None or e.end > later.start]
            for earlier in going:
                if earlier.key != later.key and not _excused(earlier, later, told):
                    yield f"two at once: {later.identity} {earlier.key[:8]} and {later.key[:8]} at {later.start:.3f}"
            going.append(later)


def _excused(earlier: Execution, later: Execution, told: dict[str, _Told]) -> bool:
    under = [overlap for at, overlap in told[later.key].started if at <= later.start]
    return not under or under[-1] is Overlap.ALLOW or told[earlier.key].declared(later.start)
