"""Define and delete several schedules in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from kron.engine.store import Store
from kron.errors import Contended
from kron.rules.edit import defined, deleted
from kron.rules.pause import Actor, pause_expired_update
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.timing.job import Job

MAX_WRITE_ATTEMPTS = 20  # attempts against concurrent writers


async def put_together(store: Store, jobs: Sequence[Job], gone: Sequence[str], actor: Actor) -> list[ScheduleState]:
    """Define the jobs and delete the schedules `gone` in one transaction. Return the jobs' states in their order."""
    names = [*(job.identity for job in jobs), *gone]
    if not names:
        return []
    for _ in range(MAX_WRITE_ATTEMPTS):
        states, now = await store.get_with_time(names)
        expired = [state for state in states if state and state.pause_expired(now)]
        if expired:  # their pauses have ended; apply that first, separately
            await store.commit([pause_expired_update(state) for state in expired], now)
            continue
        updates = [defined(job, state, now, actor) for job, state in zip(jobs, states[: len(jobs)], strict=True)]
        deletions = [deleted(state, now, actor) for state in states[len(jobs) :] if state and not state.deleted]
        if await _commit(store, [*(update for update in updates if update), *deletions], now):
            return [_state_after(update, state) for update, state in zip(updates, states[: len(jobs)], strict=True)]
    raise Contended("CONTENDED", "the schedules were modified concurrently", hint="retry the request")


async def _commit(store: Store, updates: list[ScheduleUpdate], now: int) -> bool:
    return not updates or all(await store.commit(updates, now, together=True))


def _state_after(update: ScheduleUpdate | None, state: ScheduleState | None) -> ScheduleState:
    if update is not None:
        return update.after
    assert state is not None  # noqa: S101  a schedule that is not changed exists
    return state
