"""Together: several schedules defined and deleted in one write, so that all of it is done, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.case import Case
from kron.core.job import Job
from kron.edit import defined, deleted
from kron.errors import KronError
from kron.pause import Asker, awoken
from kron.store import Settlement, Store

TRIES = 20  # against others who write at the same time


async def put_together(store: Store, jobs: Sequence[Job], gone: Sequence[str], asker: Asker) -> list[Case]:
    """Define the jobs and delete the schedules `gone`, in one transaction; the cases of the jobs, in their order."""
    names = [*(job.identity for job in jobs), *gone]
    if not names:
        return []
    for _ in range(TRIES):
        cases, now = await store.get_now(names)
        asleep = [case for case in cases if case and case.awakes(now)]
        if asleep:  # their pauses have ended, and are not what is to be changed
            await store.settle([awoken(case) for case in asleep], now)
            continue
        wanted = [defined(job, case, now, asker) for job, case in zip(jobs, cases[: len(jobs)], strict=True)]
        ends = [deleted(case, now, asker) for case in cases[len(jobs) :] if case and not case.deleted]
        if await _settled(store, [*(each for each in wanted if each), *ends], now):
            return [_after(each, case) for each, case in zip(wanted, cases[: len(jobs)], strict=True)]
    raise KronError("CONTENDED", "the schedules were modified concurrently", hint="retry the request")


async def _settled(store: Store, wanted: list[Settlement], now: int) -> bool:
    return not wanted or all(await store.settle(wanted, now, together=True))


def _after(wanted: Settlement | None, case: Case | None) -> Case:
    if wanted is not None:
        return wanted.after
    assert case is not None  # noqa: S101  what is not changed is there
    return case
