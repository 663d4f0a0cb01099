"""Schedules, runs and settlements to try a store with, and a store that tests can call without awaiting it."""

import asyncio
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from kron import parse
from kron.engine.fleet import ALL_SHARDS, Share
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.schedule.policy import Overlap, Policy

SECONDS = 1_800_000_000  # a full minute
NOW = SECONDS * 1000
KINDS = frozenset({"test"})  # of the targets of all jobs here
ALL = Share(ALL_SHARDS, KINDS)
MANY = 10_000


def a_folder():
    """A folder for files; in memory where that is possible, since a sync then costs nothing."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="kron-", dir=memory if memory.is_dir() else None))


def some(*shards):
    """The share of a few shards."""
    return Share(frozenset(shards), KINDS)


class Handle:
    """A store whose methods return what they would give if they were awaited."""

    def __init__(self, runner: asyncio.Runner, store):
        self.runner, self.store = runner, store

    def wake(self, share):
        """When the next schedule of a share is to be looked at."""
        return self.poll([share])[1]

    def __getattr__(self, name):
        method = getattr(self.store, name)
        return lambda *args, **named: self.runner.run(method(*args, **named))


def a_job(identity="a", text="* * * * *", overlap=Overlap.SKIP, **more):
    policy = more.pop("policy", Policy(overlap=overlap))
    return Job(identity, replace(parse(text, dialect="kron"), policy=policy), target="test:it", **more)


def a_case(identity="a", *, cursor=SECONDS, next_check_at=NOW, revision=1, overlap=Overlap.SKIP, **more):
    return ScheduleState(a_job(identity, overlap=overlap), revision, cursor, NOW, next_check_at=next_check_at, **more)


def a_revision(case, note=""):
    return Revision(case.job, case.revision, NOW, "me", note)


def a_run(state=State.PENDING, minute=1, *, identity="a", trigger="", **more):
    """A run that could be: tried if it was sent, with a verdict if it needs one."""
    nominal = SECONDS + minute * 60
    tried = 0 if state in (State.PENDING, State.SKIPPED, State.MISSED, State.UNSCHEDULABLE) else 1
    verdict = None if state in (State.PENDING, State.LAUNCHING, State.RETRY) else verdict_of(state)
    made = Run(
        key_of(identity, nominal, trigger),
        identity,
        nominal,
        1,
        nominal * 1000,
        state,
        trigger,
        verdict,
        attempt=tried,
        owner="w1" if tried else "",
        created=NOW,
        changed=NOW,
    )
    return made._replace(**more)


def verdict_of(state):
    return Outcome(state.value) if state.value in tuple(Outcome) else Outcome.EXECUTED


def a_gap(first, last, count):
    return GapRecord(SECONDS + first * 60, SECONDS + last * 60, count, Outcome.MISSED, Reason.REPLAY_BOUND)


def define(store, case=None, *runs):
    """A schedule in the store, with those runs; as it then stands."""
    case = case or a_case()
    assert store.commit([ScheduleUpdate(None, case, runs, revision=a_revision(case))], NOW) == [True]
    return now(store, case.identity)


def now(store, identity="a"):
    (case,) = store.get([identity])
    return case


def write(store, before, *new, changed=(), gap=None, **after):
    """Whether a settlement of that case holds. One that changes its number is noted as a revision."""
    case = before._replace(**after)
    noted = a_revision(case) if "revision" in after else None
    (held,) = store.commit([ScheduleUpdate(before, case, new, tuple(changed), gap, noted)], NOW)
    return held


def say(store, before, after, next_check_at=None, attempt=None):
    """Whether a change holds."""
    (held,) = store.update_runs([RunUpdate(before, after, next_check_at, attempt=attempt)], NOW)
    return held


@dataclass(frozen=True)
class View:
    """All that can be seen of a store."""

    cases: list
    runs: list
    gaps: list
    revisions: list
    acts: list
    names: list
    due: list
    wake: int | None
    attempts: list


def view(store, *identities):
    names = identities or ("a", "b")
    runs = [store.runs(name, MANY) for name in names]
    return View(
        store.get(names),
        runs,
        [store.gaps(name) for name in names],
        [store.revisions(name) for name in names],
        [store.actions(name) for name in names],
        store.identities("", MANY),
        [case.identity for case in store.fetch_due(ALL, NOW * 2, MANY)],
        store.wake(ALL),
        store.attempts([run.key for each in runs for run in each]),
    )
