"""Schedules, runs and settlements to try a store with, and a store that tests can call without awaiting it."""

import asyncio
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from kron import parse
from kron.core.case import Case
from kron.core.job import Job
from kron.core.outcome import Gap, Reason, Verdict
from kron.core.policy import Overlap, Policy
from kron.core.run import Run, State, key_of
from kron.fleet import ALL_SHARDS, Share
from kron.store import Change, Revision, Settlement

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


def a_case(identity="a", *, cursor=SECONDS, wake=NOW, revision=1, overlap=Overlap.SKIP, **more):
    return Case(a_job(identity, overlap=overlap), revision, cursor, NOW, wake=wake, **more)


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
    return Verdict(state.value) if state.value in tuple(Verdict) else Verdict.EXECUTED


def a_gap(first, last, count):
    return Gap(SECONDS + first * 60, SECONDS + last * 60, count, Verdict.MISSED, Reason.REPLAY_BOUND)


def define(store, case=None, *runs):
    """A schedule in the store, with those runs; as it then stands."""
    case = case or a_case()
    assert store.settle([Settlement(None, case, runs, revision=a_revision(case))], NOW) == [True]
    return now(store, case.identity)


def now(store, identity="a"):
    (case,) = store.get([identity])
    return case


def write(store, before, *new, changed=(), gap=None, **after):
    """Whether a settlement of that case holds. One that changes its number is noted as a revision."""
    case = before._replace(**after)
    noted = a_revision(case) if "revision" in after else None
    (held,) = store.settle([Settlement(before, case, new, tuple(changed), gap, noted)], NOW)
    return held


def say(store, before, after, wake=None):
    """Whether a change holds."""
    (held,) = store.change([Change(before, after, wake)], NOW)
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


def view(store, *identities):
    names = identities or ("a", "b")
    return View(
        store.get(names),
        [store.runs(name, MANY) for name in names],
        [store.gaps(name) for name in names],
        [store.revisions(name) for name in names],
        [store.acts(name) for name in names],
        store.identities("", MANY),
        [case.identity for case in store.look(ALL, NOW * 2, MANY)],
        store.wake(ALL),
    )
