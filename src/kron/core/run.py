"""Runs: the record of a period from the moment it is due. It is written before anything is launched."""

from __future__ import annotations

import json
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from kron.core.outcome import Reason, Verdict
from kron.core.policy import Overlap, Policy


class State(StrEnum):
    """How far a run has come. It only ever moves forward."""

    PENDING = "pending"  # due, and waiting its turn
    LAUNCHING = "launching"  # claimed by a worker that is about to send it
    RETRY = "retry"  # sent in vain, or nobody knows; to be sent again
    ENQUEUED = "enqueued"  # the target has it
    STARTED = "started"  # the target said that it runs
    WAITING = "waiting"  # it failed, and will run again
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # it ran, and fell silent
    UNKNOWN = "unknown"  # it may have run
    SKIPPED = "skipped"
    MISSED = "missed"
    UNSCHEDULABLE = "unschedulable"


OPEN = frozenset({State.PENDING, State.LAUNCHING, State.RETRY, State.ENQUEUED, State.STARTED, State.WAITING})
ACTIVE = frozenset({State.LAUNCHING, State.RETRY, State.ENQUEUED, State.STARTED})  # it may be running
RUNNING = frozenset({State.ENQUEUED, State.STARTED})


class Run(NamedTuple):
    """A period that has fallen due. Times are in milliseconds from 1970-01-01T00:00:00Z, `nominal` in seconds."""

    key: str
    identity: str
    nominal: int
    revision: int
    due: int
    state: State
    trigger: str = ""  # empty for the calendar; the name of the request for a manual run or a backfill
    verdict: Verdict | None = None
    reason: Reason | None = None
    attempt: int = 0
    owner: str = ""  # the incarnation of the worker that sends it
    lease: int | None = None  # when whoever holds it must have been heard of
    not_before: int = 0
    doubt: bool = False  # an attempt was sent whose answer nobody heard
    created: int = 0
    changed: int = 0
    sent: int = 0  # when its last attempt was claimed
    unsent: int = 0  # attempts that were claimed and withheld: certainly nothing was sent

    @property
    def tries(self) -> int:
        """How many of its attempts may have been sent."""
        return self.attempt - self.unsent

    @property
    def open(self) -> bool:
        """Whether something may still become of it."""
        return self.state in OPEN

    @property
    def active(self) -> bool:
        """Whether it may be running."""
        return self.state in ACTIVE

    @property
    def dead(self) -> bool:
        """Whether it was given up before its target ever had it: a letter that could not be delivered."""
        return self.state is State.FAILED and self.verdict is Verdict.MISSED

    @property
    def token(self) -> tuple[str, int, str, int | None]:
        """What a write about this attempt must still find: its state, number, owner and lease."""
        return self.state, self.attempt, self.owner, self.lease


def key_of(identity: str, nominal: int, trigger: str = "") -> str:
    """The idempotency key of a period: the same for every attempt, worker, revision and release.

    A calendar key is made of a text that ends in a digit, a manual key of one that ends in a bracket. So no request
    can take the key of a period, whatever characters the identities and the request have.
    """
    name = f"{identity}:{nominal}" if not trigger else json.dumps([identity, nominal, trigger])
    return sha256(name.encode()).hexdigest()


BACKFILL, REDRIVE = "backfill", "redrive"
OWN = (f"{BACKFILL}:", f"{BACKFILL}/", f"{REDRIVE}:", f"{REDRIVE}/")  # no other request begins so


def trigger_of(kind: str, request: str, overlap: Overlap = Overlap.QUEUE) -> str:
    """Return the trigger of a run that was asked for again: `backfill:r`, or `backfill/skip:r` with another overlap."""
    return f"{kind}:{request}" if overlap is Overlap.QUEUE else f"{kind}/{overlap}:{request}"


def overlap_of(run: Run, policy: Policy) -> Overlap:
    """Return the overlap policy of a run: a backfill and a redrive have one of their own, which the trigger names."""
    if not run.trigger.startswith(OWN):
        return policy.overlap
    _, slash, named = run.trigger.partition(":")[0].partition("/")
    return Overlap(named) if slash else Overlap.QUEUE


def exclusive(run: Run, policy: Policy) -> bool:
    """Whether a run may not start while another one is active."""
    return overlap_of(run, policy) is not Overlap.ALLOW


_RANK = {State.PENDING: 0, State.LAUNCHING: 1, State.RETRY: 1, State.ENQUEUED: 2, State.STARTED: 3, State.WAITING: 4}


def lawful(before: Run, after: Run) -> bool:
    """Whether a run may go from the one to the other: forward only, its verdict given once, its tokens growing."""
    if not before.open or before.key != after.key or after.attempt < before.attempt:
        return False
    if before.verdict is not None and after.verdict is not before.verdict:
        return False
    return not after.open or after.attempt > before.attempt or _RANK[after.state] >= _RANK[before.state]


def ended(run: Run, state: State, now: int, verdict: Verdict | None = None, reason: Reason | None = None) -> Run:
    """The run at its end. A verdict that was given stays."""
    return run._replace(
        state=state, verdict=run.verdict or verdict, reason=reason or run.reason, lease=None, changed=now
    )


def claimed(run: Run, owner: str, lease: int, now: int) -> Run:
    """The run in the hands of a worker that is about to send it, for the next time."""
    return run._replace(state=State.LAUNCHING, attempt=run.attempt + 1, owner=owner, lease=lease, changed=now, sent=now)
