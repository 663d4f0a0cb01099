"""Backfills and redrives: runs that are requested for periods of the calendar."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from kron.engine.request_check import MAX_WRITE_ATTEMPTS, contended_error, require_schedule
from kron.engine.store import Store
from kron.errors import InvalidInput
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.pause import NO_ACTOR, Actor
from kron.rules.run import REDRIVE, Run, trigger_of
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import nominals
from kron.timing.schedule.policy import Overlap

MAX_BACKFILL_PERIODS = 1_000  # periods in one request


def backfill_range(job: Job, first: int, last: int) -> list[int]:
    """Return the periods of a job from `first` to `last` (seconds, both included).

    Raises:
        InvalidInput: The range has more than 1,000 periods.
    """
    periods = list(islice(nominals(job.schedule, first - 1, last), MAX_BACKFILL_PERIODS + 1))
    if len(periods) > MAX_BACKFILL_PERIODS:
        message = f"range has more than {MAX_BACKFILL_PERIODS} periods"
        raise InvalidInput("TOO_MANY", message, hint="use a shorter range")
    return periods


def request_keys(identity: str, periods: Sequence[int], kind: str, request: str) -> list[str]:
    """Return the keys of the runs that a backfill or a redrive makes for these periods."""
    return [key_of(identity, nominal, trigger_of(kind, request)) for nominal in periods]


def redrive_key(run: Run) -> str:
    """Return the key of the run that a redrive of a run makes."""
    (key,) = request_keys(run.identity, [run.nominal], REDRIVE, run.key)
    return key


async def run_again(
    store: Store,
    identity: str,
    periods: Sequence[int],
    kind: str,
    request: str,
    overlap: Overlap,
    actor: Actor = NO_ACTOR,
) -> list[Run]:
    """Return one run for each period of a request. Runs that do not exist yet are recorded.

    Args:
        store: Where the runs are recorded.
        identity: The schedule.
        periods: Nominal times of the periods, in seconds.
        kind: `BACKFILL` or `REDRIVE`.
        request: Name of the request. The same request repeated gives the same runs.
        overlap: Overlap policy of the runs. It is not part of the request's identity.
        actor: Who requests the runs. Recorded if it has a name.

    Raises:
        NotFound: The schedule does not exist.
        Contended: The schedule is changed concurrently.
    """
    keys, trigger = request_keys(identity, periods, kind, request), trigger_of(kind, request, overlap)
    for _ in range(MAX_WRITE_ATTEMPTS):
        existing_keys = {run.key for run in await store.runs_by_key(keys) if run}
        (state,), now = await store.get_with_time([identity])
        state = require_schedule(state, identity)
        pairs = [(n, k) for n, k in zip(periods, keys, strict=True) if k not in existing_keys]
        new = tuple(requested_run(state, key, nominal, trigger, now) for nominal, key in pairs)
        action_kind = ActionKind.REDRIVEN if kind == REDRIVE else ActionKind.BACKFILLED
        if not new or (await store.commit([request_update(state, new, now, action_kind, actor)], now))[0]:
            return [run for run in await store.runs_by_key(keys) if run]
    raise contended_error(identity)


def requested_run(state: ScheduleState, key: str, nominal: int, request: str, now: int) -> Run:
    """Return the pending run of a request for the period at `nominal` (seconds)."""
    return Run(
        key, state.identity, nominal, state.revision, now, State.PENDING, trigger=request, created=now, changed=now
    )


def request_update(
    state: ScheduleState, new: tuple[Run, ...], now: int, kind: ActionKind, actor: Actor
) -> ScheduleUpdate:
    """Return the update that records requested runs and who requested them, and lets a worker read the schedule."""
    action = ScheduleAction(kind, now, None, *actor) if actor.name else None
    return ScheduleUpdate(state, state._replace(next_check_at=now), new, action=action)
