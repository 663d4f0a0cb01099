"""Reconciliation of registrations with the persisted tasks, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kron.apps.declarative.errors import SchedulerError
from kron.apps.declarative.persisted import expression_of, read_states
from kron.apps.declarative.registration import Task
from kron.engine.store import Store
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.attempt import lost_attempt
from kron.rules.edit import created, revision_of, withdrawn
from kron.rules.outcome import Outcome, Reason
from kron.rules.pause import Actor
from kron.rules.plan import record_due
from kron.rules.run import Run, ended
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate

MAX_WRITE_ATTEMPTS = 5  # attempts against another scheduler that starts on the same store
MAX_RUNS_READ = 10  # runs; older ones are before the cursor
DUE_AT_ONCE = 0  # independent of the clock at that time
ACTOR = Actor("DeclarativeScheduler")
PROCESS_ENDED = "the process ended while the task was running"


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
    updates: list[ScheduleUpdate] = field(default_factory=list)

    def add(self, name: str, identity: str, kind: Kind) -> None:
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
    for _ in range(MAX_WRITE_ATTEMPTS):
        states, now = await read_states(store, registered), await store.now()
        overrides = await _resolve(store, tasks, states, now)
        if all(await store.commit(overrides.updates, now, together=True)):
            return overrides
    raise SchedulerError("Cannot initialize scheduler: another one keeps changing the same tasks")


async def _resolve(store: Store, tasks: Sequence[Task], states: dict[str, ScheduleState], now: int) -> Overrides:
    overrides = Overrides()
    new_tasks = [task for task in tasks if task.name not in states]
    for task, identity in zip(new_tasks, await _free_identities(store, new_tasks, now), strict=True):
        overrides.add(task.name, identity, Kind.NEW)
        update = created(task.job(identity), None, now, ACTOR)
        overrides.updates.append(update._replace(after=update.after._replace(next_check_at=DUE_AT_ONCE)))
    for task in tasks:
        if state := states.pop(task.name, None):
            overrides.add(task.name, state.identity, _kind(task, state))
            overrides.updates += await _continuing_updates(store, task, state, now)
    for name, state in states.items():
        overrides.kinds[Kind.DROPPED].append(name)
        overrides.updates.append(_deletion_update(state, now))
    return overrides


def _kind(task: Task, state: ScheduleState) -> Kind:
    if any(run.active for run in state.open_runs):
        return Kind.ORPHANED
    delay = state.policy.retry_after
    unchanged = expression_of(state.job) == task.expression and delay == task.schedule.policy.retry_after
    return Kind.PRESERVED if unchanged else Kind.OVERRIDDEN


async def _continuing_updates(store: Store, task: Task, state: ScheduleState, now: int) -> list[ScheduleUpdate]:
    """Return the updates of a task that continues with its history. Runs that its last process left active restart."""
    orphans = tuple((run, _restarted_run(run, now)) for run in state.open_runs if run.active)
    attempts = tuple((run, lost_attempt(run, now, PROCESS_ENDED)) for run, _ in orphans)
    job = task.job(state.identity)
    if job == state.job:
        return (
            [ScheduleUpdate(state, state._replace(next_check_at=DUE_AT_ONCE), changed=orphans, attempts=attempts)]
            if state.open_runs
            else []
        )
    due = record_due(state, now)  # periods that fell due under the old expression still run
    attempted = max([state.effective_from, *(run.sent for run in await store.runs(state.identity, MAX_RUNS_READ))])
    cursor = max(due.cursor, attempted // 1000)  # periods of the new expression before the last attempt do not run
    if due.new or any(run.state is State.PENDING for run in state.open_runs):
        cursor = max(cursor, now // 1000)  # a run still due stands for all earlier periods of the new expression
    after = state._replace(job=job, revision=state.revision + 1, cursor=cursor, next_check_at=DUE_AT_ONCE)
    changed, revision = (*due.changed, *orphans), revision_of(after, now, ACTOR)
    return [ScheduleUpdate(state, after, due.new, changed, due.gap, revision, attempts=attempts)]


def _restarted_run(run: Run, now: int) -> Run:
    """Return the run as if it had failed with no delay: it runs at once, unless a newer period replaces it."""
    waiting = run._replace(state=State.WAITING, outcome=Outcome.EXECUTED, reason=Reason.SILENT)
    return waiting._replace(not_before=DUE_AT_ONCE, lease=None, changed=now)


def _deletion_update(state: ScheduleState, now: int) -> ScheduleUpdate:
    """Return the update that deletes a task: its history is kept, and a later task of its name starts without it."""
    changed = tuple((run, _ended_run(run, now)) for run in state.open_runs)
    action = ScheduleAction(ActionKind.DELETED, now, None, *ACTOR)
    return ScheduleUpdate(
        state, state._replace(deleted=True, next_check_at=None, paused_until=None), changed=changed, action=action
    )


def _ended_run(run: Run, now: int) -> Run:
    return ended(run, State.LOST, now, Outcome.EXECUTED, Reason.DELETED) if run.active else withdrawn(run, now)


async def _free_identities(store: Store, tasks: Sequence[Task], now: int) -> list[str]:
    """Return an unused identity for each new task: its name, unless a deleted task had that name."""
    states = await store.get([task.name for task in tasks])
    return [
        task.name if state is None else await _other_identity(store, task.name, now)
        for task, state in zip(tasks, states, strict=True)
    ]


async def _other_identity(store: Store, name: str, now: int) -> str:
    identities = [f"{name}#{now + n}" for n in range(100)]
    for identity, state in zip(identities, await store.get(identities), strict=True):
        if state is None:
            return identity
    raise SchedulerError(f'Cannot initialize scheduler: no identity is free for "{name}"')
