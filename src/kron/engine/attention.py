"""Attention: the schedules and runs that a person should look at, a bounded number of each kind."""

from __future__ import annotations

from dataclasses import dataclass

from kron.engine.overview import MAX_NEXT
from kron.engine.store import Store
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState

LATE_MS = 60_000  # milliseconds after which a schedule that no worker has checked counts as late
TROUBLED_STATES = (State.FAILED, State.LOST, State.UNKNOWN, State.MISSED)  # of the last period of a schedule


@dataclass(frozen=True, slots=True)
class Attention:
    """What needs attention: of each kind at most as many entries as were requested."""

    late: list[ScheduleState]  # no worker has checked them in time; the longest wait first
    troubled: list[tuple[str, State]]  # identities of schedules whose last period ended in such a state
    dead_letters: list[Run]  # latest first
    paused: list[ScheduleState]  # in the order of their identities


async def attention(store: Store, scope: str, limit: int) -> Attention:
    """Return what needs attention among the schedules of a scope, at most `limit` of each kind and state."""
    overview, now = store.overview, await store.now()
    late = await store.get(await overview.next_checks(scope, MAX_NEXT, now - LATE_MS))
    troubled = list[tuple[str, State]]()
    for state in TROUBLED_STATES:
        troubled += [(identity, state) for identity in await overview.troubled_schedules(scope, state, "", limit)]
    paused = await store.get(await overview.paused(scope, "", limit))
    return Attention(
        [schedule for schedule in late if schedule and not schedule.is_inactive][:limit],
        troubled,
        await store.dead_letters(scope, limit),
        [schedule for schedule in paused if schedule],
    )
