"""Overrides: registrations against what is persisted. What is to be written is written as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kron.apps.declarative.errors import SchedulerError
from kron.apps.declarative.persisted import read_cases
from kron.apps.declarative.registration import Task
from kron.core.case import Case
from kron.core.outcome import Reason, Verdict
from kron.core.plan import record_due
from kron.core.run import Run, State, ended
from kron.edit import created, revision_of, withdrawn
from kron.pause import Asker
from kron.store import Act, Deed, Settlement, Store

TRIES = 5  # against another scheduler that starts on the same store
NEWEST = 10  # runs; whatever is older lies before the cursor
AT_ONCE = 0  # whatever the clock may show by then
ASKER = Asker("DeclarativeScheduler")


class Kind(StrEnum):
    """What a task is to the scheduler that finds it."""

    NEW = "new"
    PRESERVED = "preserved"
    OVERRIDDEN = "overridden"
    ORPHANED = "orphaned"
    DROPPED = "dropped"  # it is persisted, and nobody registers it any more


@dataclass(slots=True)
class Overrides:
    """Which task is what, and what is to be written for it."""

    kinds: dict[Kind, list[str]] = field(default_factory=lambda: {kind: [] for kind in Kind})
    aliases: dict[str, str] = field(default_factory=dict)  # the task of each identity that is not its name
    settlements: list[Settlement] = field(default_factory=list)

    def take(self, name: str, identity: str, kind: Kind) -> None:
        """A task that is registered, and what it is called in the store."""
        self.kinds[kind].append(name)
        if identity != name:
            self.aliases[identity] = name

    def names(self, kind: Kind) -> tuple[str, ...]:
        """The tasks of one kind."""
        return tuple(self.kinds[kind])


async def override(store: Store, tasks: Sequence[Task]) -> Overrides:
    """Bring what is persisted in line with the registrations, all at once."""
    registered = {task.name for task in tasks}
    for _ in range(TRIES):
        cases, now = await read_cases(store, registered), await store.now()
        found = await _resolve(store, tasks, cases, now)
        if all(await store.settle(found.settlements, now, together=True)):
            return found
    raise SchedulerError("Cannot initialize scheduler: another one keeps changing the same tasks")


async def _resolve(store: Store, tasks: Sequence[Task], cases: dict[str, Case], now: int) -> Overrides:
    found = Overrides()
    fresh = [task for task in tasks if task.name not in cases]
    for task, identity in zip(fresh, await _identities(store, fresh, now), strict=True):
        found.take(task.name, identity, Kind.NEW)
        new = created(task.job(identity), None, now, ASKER)
        found.settlements.append(new._replace(after=new.after._replace(wake=AT_ONCE)))
    for task in tasks:
        if case := cases.pop(task.name, None):
            found.take(task.name, case.identity, _kind(task, case))
            found.settlements += await _continued(store, task, case, now)
    for name, case in cases.items():
        found.kinds[Kind.DROPPED].append(name)
        found.settlements.append(_dropped(case, now))
    return found


def _kind(task: Task, case: Case) -> Kind:
    if any(run.active for run in case.open):
        return Kind.ORPHANED
    same = case.job.description == task.expression and case.policy.retry_after == task.schedule.policy.retry_after
    return Kind.PRESERVED if same else Kind.OVERRIDDEN


async def _continued(store: Store, task: Task, case: Case, now: int) -> list[Settlement]:
    """A task that goes on, with its history. What its last life left running is to run again at once."""
    orphans = tuple((run, _restarted(run, now)) for run in case.open if run.active)
    job = task.job(case.identity)
    if job == case.job:
        return [Settlement(case, case._replace(wake=AT_ONCE), changed=orphans)] if case.open else []
    due = record_due(case, now)  # what fell due under the old expression is still owed
    attempted = max([case.since, *(run.sent for run in await store.runs(case.identity, NEWEST))])
    cursor = max(due.cursor, attempted // 1000)  # and what the new one would have had before it ran last, is not
    if due.new or any(run.state is State.PENDING for run in case.open):
        cursor = max(cursor, now // 1000)  # what is owed stands for all that the new one would have had
    after = case._replace(job=job, revision=case.revision + 1, cursor=cursor, wake=AT_ONCE)
    return [Settlement(case, after, due.new, (*due.changed, *orphans), due.gap, revision_of(after, now, ASKER))]


def _restarted(run: Run, now: int) -> Run:
    """As if it had failed with no delay: it runs at once, unless a newer period has taken its place."""
    waiting = run._replace(state=State.WAITING, verdict=Verdict.EXECUTED, reason=Reason.SILENT)
    return waiting._replace(not_before=AT_ONCE, lease=None, changed=now)


def _dropped(case: Case, now: int) -> Settlement:
    """A task that is forgotten: its history stays, and whoever takes up its name begins anew."""
    changed = tuple((run, _forgotten(run, now)) for run in case.open)
    act = Act(Deed.DELETED, now, None, *ASKER)
    return Settlement(case, case._replace(deleted=True, wake=None, until=None), changed=changed, act=act)


def _forgotten(run: Run, now: int) -> Run:
    return ended(run, State.LOST, now, Verdict.EXECUTED, Reason.DELETED) if run.active else withdrawn(run, now)


async def _identities(store: Store, tasks: Sequence[Task], now: int) -> list[str]:
    """For each new task an identity that nobody ever had: its name, unless one of that name was forgotten once."""
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
