"""Runs: the record of a period from the time it is due. A run is recorded before it is launched."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import ACTIVE, OPEN, State
from kron.timing.schedule.policy import Overlap, Policy


class Run(NamedTuple):
    """Record of a due period or a manual request.

    Times are milliseconds since 1970-01-01T00:00:00Z, `nominal` is seconds.
    """

    key: str
    identity: str
    nominal: int
    revision: int
    due: int
    state: State
    trigger: str = ""  # empty for the calendar; the name of the request for a manual run or a backfill
    outcome: Outcome | None = None
    reason: Reason | None = None
    attempt: int = 0
    owner: str = ""  # the worker that launches the run, by its incarnation
    lease: int | None = None  # when the claim or the run lease expires
    not_before: int = 0
    maybe_delivered: bool = False  # an attempt of this execution was sent, and its result is unknown
    created: int = 0
    changed: int = 0
    sent: int = 0  # when the last attempt was claimed, or sent if its target accepted it
    unsent: int = 0  # attempts that were claimed and withheld: certainly never sent
    launched: int = 0  # `tries` when the target last accepted the run
    failures: int = 0  # executions that failed or timed out
    ends_by: int | None = None  # when an accepted run times out; None: no time limit

    @property
    def tries(self) -> int:
        """Number of attempts that may have been sent."""
        return self.attempt - self.unsent

    @property
    def launch_tries(self) -> int:
        """Number of attempts that may have been sent after the target last accepted the run."""
        return self.tries - self.launched

    @property
    def open(self) -> bool:
        """Whether the run is not finished."""
        return self.state in OPEN

    @property
    def active(self) -> bool:
        """Whether the run may be in progress."""
        return self.state in ACTIVE

    @property
    def started(self) -> int | None:
        """When the last attempt was launched, in milliseconds; None if its target has not accepted it."""
        is_accepted = (
            self.outcome is Outcome.EXECUTED
            and self.state not in (State.LAUNCHING, State.RETRY, State.UNKNOWN)
            and self.reason is not Reason.LAUNCH_FAILED
        )
        return self.sent if is_accepted and self.sent else None

    @property
    def finished(self) -> int | None:
        """When the run ended, in milliseconds; None if it is open. An ended run never changes."""
        return None if self.open else self.changed

    @property
    def dead(self) -> bool:
        """Whether the run is a dead letter: given up before its target ever accepted it."""
        return self.state is State.FAILED and self.outcome is Outcome.MISSED

    @property
    def token(self) -> tuple[str, int, str, int | None]:
        """Fencing token: a write about this attempt must find the same state, attempt number, owner and lease."""
        return self.state, self.attempt, self.owner, self.lease


BACKFILL, REDRIVE = "backfill", "redrive"
RESERVED_PREFIXES = (f"{BACKFILL}:", f"{BACKFILL}/", f"{REDRIVE}:", f"{REDRIVE}/")  # no other request may have them


def trigger_of(kind: str, request: str, overlap: Overlap = Overlap.QUEUE) -> str:
    """Return the trigger of a backfill or a redrive.

    It is `backfill:r`, or `backfill/skip:r` with another overlap policy than `queue`.
    """
    return f"{kind}:{request}" if overlap is Overlap.QUEUE else f"{kind}/{overlap}:{request}"


def overlap_of(run: Run, policy: Policy) -> Overlap:
    """Return the overlap policy of a run. The trigger of a backfill or a redrive names its own."""
    if not run.trigger.startswith(RESERVED_PREFIXES):
        return policy.overlap
    _, slash, overlap_name = run.trigger.partition(":")[0].partition("/")
    return Overlap(overlap_name) if slash else Overlap.QUEUE


def exclusive(run: Run, policy: Policy) -> bool:
    """Return whether a run may not be launched while another one is active."""
    return overlap_of(run, policy) is not Overlap.ALLOW


def is_at_limit(run: Run, policy: Policy, active_count: int) -> bool:
    """Return whether a run may not be launched, because as many runs are active as the policy allows.

    A backfill or a redrive names its own overlap policy, which has no limit.
    """
    limit = policy.overlap_limit
    return limit is not None and active_count >= limit and not run.trigger.startswith(RESERVED_PREFIXES)


_RANK = {State.PENDING: 0, State.LAUNCHING: 1, State.RETRY: 1, State.ENQUEUED: 2, State.STARTED: 3, State.WAITING: 4}


def is_valid_transition(before: Run, after: Run) -> bool:
    """Return whether a run can change this way: state only forward, outcome set once, attempt number never smaller."""
    if not before.open or before.key != after.key or after.attempt < before.attempt:
        return False
    if before.outcome is not None and after.outcome is not before.outcome:
        return False
    return not after.open or after.attempt > before.attempt or _RANK[after.state] >= _RANK[before.state]


def ended(run: Run, state: State, now: int, outcome: Outcome | None = None, reason: Reason | None = None) -> Run:
    """Return the run at its end. An outcome that was already written stays."""
    return run._replace(
        state=state, outcome=run.outcome or outcome, reason=reason or run.reason, lease=None, changed=now
    )


def claimed(run: Run, owner: str, lease: int, now: int) -> Run:
    """Return the run claimed by a worker for its next attempt."""
    return run._replace(
        state=State.LAUNCHING, attempt=run.attempt + 1, owner=owner, lease=lease, changed=now, sent=now, ends_by=None
    )
