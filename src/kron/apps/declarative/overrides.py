"""Reconciliation of registrations with the persisted tasks, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kron.apps.declarative.errors import SchedulerError
from kron.apps.declarative.persisted import expression_of, read_cases
from kron.apps.declarative.registration import Task
from kron.engine.store import Store
from kron.rules.edit import created, revision_of, withdrawn
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import Actor
from kron.rules.plan import record_due
from kron.rules.run import Run, State, ended
from kron.rules.state import ScheduleState
from kron.rules.update import ActionKind, ScheduleAction, ScheduleUpdate

TRIES = 5  # attempts against another scheduler that starts on the same store
NEWEST = 10  # runs; older ones are before the cursor
AT_ONCE = 0  # independent of the clock at that time
ASKER = Actor("DeclarativeScheduler")


class Kind(StrEnum):
    """Relation of a task to the scheduler that finds it."""

    NEW = "new"
    PRESERVED = "preserved"
    OVERRIDDEN = "overridden"
    ORPHANED = "orphaned"
    DROPPED = "dropped"  # persisted, but no longer registered


@dataclass(slots=True)
class Overrides:
    """Kind of each task, and the updates to write."""

    kinds: dict[Kind, list[str]] = field(default_factory=lambda: {kind: [] for kind in Kind})
    aliases: dict[str, str] = field(default_factory=dict)  # name of the task for each identity that differs from it
    settlements: list[ScheduleUpdate] = field(default_factory=list)

    def take(self, name: str, identity: str, kind: Kind) -> None:
        """Record a registered task with its identity in the store."""
        self.kinds[kind].append(name)
        if identity != name:
            self.aliases[identity] = name

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Return the tasks of one kind."""
        return tuple(self.kinds[kind])


async def override(store: Store, tasks: Sequence[Task]) -> Overrides:
    """Reconcile the persisted tasks with the registrations in one transaction."""
    registered = {task.name for task in tasks}
    for _ in range(TRIES):
        cases, now = await read_cases(store, registered), await store.now()
        found = await _resolve(store, tasks, cases, now)
        if all(await store.commit(found.settlements, now, together=True)):
            return found
    raise SchedulerError("Cannot initialize scheduler: another one keeps changing the same tasks")


async def _resolve(store: Store, tasks: Sequence[Task], cases: dict[str, ScheduleState], now: int) -> Overrides:
    found = Overrides()
    fresh = [task for task in tasks if task.name not in cases]
    for task, identity in zip(fresh, await _identities(store, fresh, now), strict=True):
        found.take(task.name, identity, Kind.NEW)
        new = created(task.job(identity), None, now, ASKER)
        found.settlements.append(new._replace(after=new.after._replace(next_check_at=AT_ONCE)))
    for task in tasks:
        if case := cases.pop(task.name, None):
            found.take(task.name, case.identity, _kind(task, case))
            found.settlements += await _continued(store, task, case, now)
    for name, case in cases.items():
        found.kinds[Kind.DROPPED].append(name)
        found.settlements.append(_dropped(case, now))
    return found


def _kind(task: Task, case: ScheduleState) -> Kind:
    if any(run.active for run in case.open_runs):
        return Kind.ORPHANED
    delay = case.policy.retry_after
    same = expression_of(case.job) == task.expression and delay == task.schedule.policy.retry_after
    return Kind.PRESERVED if same else Kind.OVERRIDDEN


async def _continued(store: Store, task: Task, case: ScheduleState, now: int) -> list[ScheduleUpdate]:
    """Return the updates of a task that continues with its history. Runs that its last process left active restart."""
    orphans = tuple((run, _restarted(run, now)) for run in case.open_runs if run.active)
    job = task.job(case.identity)
    if job == case.job:
        return [ScheduleUpdate(case, case._replace(next_check_at=AT_ONCE), changed=orphans)] if case.open_runs else []
    due = record_due(case, now)  # periods that fell due under the old expression still run
    attempted = max([case.effective_from, *(run.sent for run in await store.runs(case.identity, NEWEST))])
    cursor = max(due.cursor, attempted // 1000)  # periods of the new expression before the last attempt do not run
    if due.new or any(run.state is State.PENDING for run in case.open_runs):
        cursor = max(cursor, now // 1000)  # a run still due stands for all earlier periods of the new expression
    after = case._replace(job=job, revision=case.revision + 1, cursor=cursor, next_check_at=AT_ONCE)
    return [ScheduleUpdate(case, after, due.new, (*due.changed, *orphans), due.gap, revision_of(after, now, ASKER))]


def _restarted(run: Run, now: int) -> Run:
    """Return the run as if it had failed with no delay: it runs at once, unless a newer period replaces it."""
    waiting = run._replace(state=State.WAITING, outcome=Outcome.EXECUTED, reason=Reason.SILENT)
    return waiting._replace(not_before=AT_ONCE, lease=None, changed=now)


def _dropped(case: ScheduleState, now: int) -> ScheduleUpdate:
    """Return the update that deletes a task: its history is kept, and a later task of its name starts without it."""
    changed = tuple((run, _forgotten(run, now)) for run in case.open_runs)
    act = ScheduleAction(ActionKind.DELETED, now, None, *ASKER)
    return ScheduleUpdate(
        case, case._replace(deleted=True, next_check_at=None, paused_until=None), changed=changed, action=act
    )


def _forgotten(run: Run, now: int) -> Run:
    return ended(run, State.LOST, now, Outcome.EXECUTED, Reason.DELETED) if run.active else withdrawn(run, now)


async def _identities(store: Store, tasks: Sequence[Task], now: int) -> list[str]:
    """Return an unused identity for each new task: its name, unless a deleted task had that name."""
    taken = await store.get([task.name for task in tasks])
    return [
        task.name if case is None else await _other(store, task.name, now)
        for task, case in zip(tasks, taken, strict=True)
    ]


async def _other(store: Store, name: str, now: int) -> str:
    identities = [f"{name}#{now + n}" for n in range(100)]
    for identity, case in zip(identities, await store.get(identities), strict=True):
        if case is None:
            return identity
    raise SchedulerError(f'Cannot initialize scheduler: no identity is free for "{name}"')
