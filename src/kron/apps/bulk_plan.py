"""Plan of a bulk action: how many schedules or dead letters it is about, and what it would do. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kron.apps.compute import compute, time_limit
from kron.engine.bulk import BATCH_SIZE, MAX_BULK, redriven
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.rules.pause import check_pause_end
from kron.rules.pause_count import pause_count
from kron.rules.state import ScheduleState
from kron.timing.schedule.policy import Overlap

PLAN_SECONDS = 1.0  # after which schedules are no longer read, and the plan says that it is not complete
PLANNED_MS = 86_400_000  # milliseconds of periods that are counted
MAX_PERIODS = 10_000  # periods that are counted


class BulkPlan(NamedTuple):
    """What a bulk action would do.

    Attributes:
        meant: Schedules or dead letters that are meant, at most 10,000.
        more: Whether more of them match.
        read: How many of them the following numbers are about.
        changed: How many would change.
        periods: Periods of the next 24 hours that a pause drops.
        more_periods: Whether there can be more of them.
        skipped: Schedules whose additional run would be skipped, because another one is active.
    """

    meant: int
    more: bool
    read: int = 0
    changed: int = 0
    periods: int = 0
    more_periods: bool = False
    skipped: int = 0


Counter = Callable[[Sequence[ScheduleState], int, Callable[[], bool], BulkPlan], BulkPlan]


async def pause_plan(store: Store, names: Sequence[str], until: int | None) -> BulkPlan:
    """Return what a pause until `until` (milliseconds) would do to schedules.

    Raises:
        InvalidInput: `until` is not in the future.
    """
    check_pause_end(until, await store.now())

    def counted(states: Sequence[ScheduleState], now: int, out_of_time: Callable[[], bool], plan: BulkPlan) -> BulkPlan:
        def enough() -> bool:
            return plan.more_periods or out_of_time()

        count = pause_count(states, now, until, now + PLANNED_MS, MAX_PERIODS - plan.periods, enough)
        periods, more = plan.periods + count.periods, plan.more_periods or count.more
        return plan._replace(changed=plan.changed + count.schedules, periods=periods, more_periods=more)

    return await _planned(store, names, counted)


async def resume_plan(store: Store, names: Sequence[str]) -> BulkPlan:
    """Return how many of the schedules are paused."""

    def counted(states: Sequence[ScheduleState], now: int, out_of_time: Callable[[], bool], plan: BulkPlan) -> BulkPlan:
        paused = [state for state in states if state.paused and not state.pause_expired(now)]
        return plan._replace(changed=plan.changed + len(paused))

    return await _planned(store, names, counted)


async def trigger_plan(store: Store, names: Sequence[str]) -> BulkPlan:
    """Return how many schedules would run, and how many of these runs would be skipped."""

    def counted(states: Sequence[ScheduleState], now: int, out_of_time: Callable[[], bool], plan: BulkPlan) -> BulkPlan:
        busy = [state for state in states if any(run.active for run in state.open_runs)]
        skipped = sum(state.policy.overlap is Overlap.SKIP for state in busy)
        return plan._replace(changed=plan.changed + len(states), skipped=plan.skipped + skipped)

    return await _planned(store, names, counted)


async def redrive_plan(registrar: Registrar, keys: Sequence[str]) -> BulkPlan:
    """Return how many of the dead letters were not redriven before."""
    out_of_time, plan = time_limit(PLAN_SECONDS), _empty(keys)
    for batch in _batches(keys):
        if out_of_time():
            break
        before = await redriven(registrar, batch)
        plan = plan._replace(read=plan.read + len(batch), changed=plan.changed + len(batch) - len(before))
    return plan


async def _planned(store: Store, names: Sequence[str], counted: Counter) -> BulkPlan:
    """Count in one batch of schedules after another, until the time for plans is over."""
    out_of_time, plan = time_limit(PLAN_SECONDS), _empty(names)
    for batch in _batches(names):
        if out_of_time():
            return plan._replace(more_periods=True)
        states, now = await store.get_with_time(batch)
        present = [state for state in states if state is not None and not state.deleted]
        plan = await compute(counted, present, now, out_of_time, plan)
        plan = plan._replace(read=plan.read + len(batch))
    return plan


def _empty(names: Sequence[str]) -> BulkPlan:
    return BulkPlan(min(len(names), MAX_BULK), len(names) > MAX_BULK)


def _batches(names: Sequence[str]) -> list[Sequence[str]]:
    meant = names[:MAX_BULK]
    return [meant[first : first + BATCH_SIZE] for first in range(0, len(meant), BATCH_SIZE)]
