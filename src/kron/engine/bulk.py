"""Bulk actions: one request on many schedules or dead letters, a batch at a time.

A batch that is repeated does nothing twice: what is in the requested state already stays as it is. So the sender of a
request can go on after a crash with the batch whose answer was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from kron.engine.backfill import redrive_key
from kron.engine.registrar import Registrar
from kron.errors import Contended, InvalidInput, KronError, NotFound
from kron.rules.pause import NO_ACTOR, Actor, check_pause_end
from kron.timing.key import key_of
from kron.timing.schedule.policy import Overlap

MAX_BULK = 10_000  # schedules or dead letters of one confirmed request
BATCH_SIZE = 500  # of them in one batch
CONCURRENCY = 8  # requests of a batch that are under way at once
Act = Callable[[str], Awaitable[object]]


class BulkResult(NamedTuple):
    """Result of a batch.

    Attributes:
        done: How many were changed.
        unchanged: How many were in the requested state already.
        problems: Names of those that could not be changed, each with the reason.
    """

    done: int
    unchanged: int
    problems: tuple[tuple[str, KronError], ...] = ()


async def pause_all(
    registrar: Registrar, identities: Sequence[str], actor: Actor, *, until: int | None = None
) -> BulkResult:
    """Pause schedules until `until` (milliseconds), or until they are resumed.

    Raises:
        InvalidInput: `until` is not in the future.
    """
    states, now = await registrar.store.get_with_time(identities)
    check_pause_end(until, now)
    kept = {
        state.identity
        for state in states
        if state and state.paused and state.paused_until == until and not state.pause_expired(now)
    }
    return await _each(identities, kept, lambda name: registrar.pause(name, actor, until=until))


async def resume_all(registrar: Registrar, identities: Sequence[str], actor: Actor) -> BulkResult:
    """Resume schedules."""
    states = await registrar.store.get(identities)
    kept = {state.identity for state in states if state and not state.paused and not state.deleted}
    return await _each(identities, kept, lambda name: registrar.resume(name, actor))


async def trigger_all(
    registrar: Registrar, identities: Sequence[str], request: str, actor: Actor = NO_ACTOR
) -> BulkResult:
    """Run schedules now. The same request repeated gives one run of each.

    Raises:
        InvalidInput: The name of the request is reserved.
    """
    runs = await registrar.store.runs_by_key([key_of(identity, 0, request) for identity in identities])
    kept = {run.identity for run in runs if run}
    return await _each(identities, kept, lambda name: registrar.trigger(name, request, actor))


async def redrive_all(
    registrar: Registrar, keys: Sequence[str], overlap: Overlap = Overlap.QUEUE, actor: Actor = NO_ACTOR
) -> BulkResult:
    """Run the periods of dead letters again. A dead letter that was redriven before stays as it is."""
    kept = await redriven(registrar, keys)
    return await _each(keys, kept, lambda key: registrar.redrive(key, overlap, actor), (InvalidInput,))


async def redriven(registrar: Registrar, keys: Sequence[str]) -> set[str]:
    """Return the keys of those runs that were redriven before."""
    runs = [run for run in await registrar.store.runs_by_key(keys) if run]
    new_keys = {run.key: redrive_key(run) for run in runs}
    existing = {run.key for run in await registrar.store.runs_by_key(list(new_keys.values())) if run}
    return {key for key, new_key in new_keys.items() if new_key in existing}


async def _each(
    names: Sequence[str], kept: Collection[str], act: Act, tolerated: tuple[type[KronError], ...] = ()
) -> BulkResult:
    """Act on each name that is not kept. An error about one of them is a problem; another error is raised."""
    changed = [name for name in dict.fromkeys(names) if name not in kept]
    slots = asyncio.Semaphore(CONCURRENCY)

    async def problem_of(name: str) -> KronError | None:
        async with slots:
            try:
                await act(name)
            except KronError as error:
                return error
            return None

    errors = await asyncio.gather(*map(problem_of, changed))
    for error in errors:
        if error is not None and not isinstance(error, (NotFound, Contended, *tolerated)):
            raise error
    problems = tuple((name, error) for name, error in zip(changed, errors, strict=True) if error is not None)
    return BulkResult(len(changed) - len(problems), len(kept), problems)
