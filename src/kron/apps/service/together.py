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

TRIES = 20  # attempts against concurrent writers


async def put_together(store: Store, jobs: Sequence[Job], gone: Sequence[str], actor: Actor) -> list[ScheduleState]:
    """Define the jobs and delete the schedules `gone` in one transaction. Return the jobs' states in their order."""
    names = [*(job.identity for job in jobs), *gone]
    if not names:
        return []
    for _ in range(TRIES):
        cases, now = await store.get_with_time(names)
        asleep = [case for case in cases if case and case.pause_expired(now)]
        if asleep:  # their pauses have ended; apply that first, separately
            await store.commit([pause_expired_update(case) for case in asleep], now)
            continue
        wanted = [defined(job, case, now, actor) for job, case in zip(jobs, cases[: len(jobs)], strict=True)]
        ends = [deleted(case, now, actor) for case in cases[len(jobs) :] if case and not case.deleted]
        if await _settled(store, [*(each for each in wanted if each), *ends], now):
            return [_after(each, case) for each, case in zip(wanted, cases[: len(jobs)], strict=True)]
    raise Contended("CONTENDED", "the schedules were modified concurrently", hint="retry the request")


async def _settled(store: Store, wanted: list[ScheduleUpdate], now: int) -> bool:
    return not wanted or all(await store.commit(wanted, now, together=True))


def _after(wanted: ScheduleUpdate | None, case: ScheduleState | None) -> ScheduleState:
    if wanted is not None:
        return wanted.after
    assert case is not None  # noqa: S101  a schedule that is not changed exists
    return case
