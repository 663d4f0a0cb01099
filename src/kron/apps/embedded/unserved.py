"""Unserved jobs: stored jobs of tasks that no living process registers, for example because a function was renamed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kron.apps.embedded.declared import SCHEME
from kron.apps.embedded.registry import Registry
from kron.engine.clock import Timer
from kron.engine.store import Store
from kron.rules.downtime import EVER
from kron.rules.state import ScheduleState
from kron.rules.upcoming import next_period

FIRST_CHECK_SECONDS = 2.0  # seconds after the start: processes that start together have registered by then
MAX_JOBS_READ = 2_000  # jobs that one check reads, in the order of their names
MAX_NAMES_SHOWN = 10
_PAGE_SIZE = 500
log = logging.getLogger("kron.scheduler")


@asynccontextmanager
async def watching_unserved(store: Store, registry: Registry, timer: Timer, lease_ms: int) -> AsyncIterator[None]:
    """Log one warning about unserved jobs, after the start of a scheduler.

    A process that was killed counts as living until its lease ends, so the store is read again after that.

    Args:
        store: Store of the jobs.
        registry: Functions of this process.
        timer: Timer of the scheduler.
        lease_ms: Milliseconds for which a process that was killed counts as living.
    """
    task = asyncio.create_task(_watch(store, registry, timer, lease_ms / 1000))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _watch(store: Store, registry: Registry, timer: Timer, lease_seconds: float) -> None:
    for seconds in (FIRST_CHECK_SECONDS, lease_seconds + FIRST_CHECK_SECONDS):
        await timer.sleep(seconds)
        try:
            counts, is_complete = await unserved(store, registry)
        except Exception as error:  # the warning is a service: an outage of the store is told by the worker
            log.debug("stored jobs could not be checked for functions that are missing: %s", error)
            continue
        if counts:
            log.warning("%s", warning_of(counts, is_complete))
            return


async def unserved(store: Store, registry: Registry) -> tuple[Counter[str], bool]:
    """Return the number of unserved jobs for each function, and whether all jobs of the store were read."""
    counts, after = Counter[str](), ""
    for _ in range(MAX_JOBS_READ // _PAGE_SIZE):
        names = await store.identities(after, _PAGE_SIZE)
        states = [state for state in await store.get(names) if state] if names else []
        counts.update(_function_of(state) for state in states if _is_unserved(state, registry))
        if len(names) < _PAGE_SIZE:
            return counts, True
        after = names[-1]
    return counts, False


def warning_of(counts: Counter[str], is_complete: bool) -> str:
    """Return the warning about unserved jobs, with the functions that most of them have."""
    names = [repr(name) for name, _ in counts.most_common(MAX_NAMES_SHOWN)]
    more = f" and {len(counts) - len(names)} more" if len(counts) > len(names) else ""
    functions = f"function{'s' if len(counts) > 1 else ''} {', '.join(names)}{more}"
    jobs = f"{'' if is_complete else 'at least '}{counts.total()} job{'s' if counts.total() > 1 else ''}"
    action = "register each function under its old name with @s.task(name=...), or delete the jobs"
    return f"no living process registers the {functions}, so {jobs} cannot run; {action}"


def _is_unserved(state: ScheduleState, registry: Registry) -> bool:
    job = state.job
    if not job.payload or not job.target.startswith(f"{SCHEME}:") or registry.can_run(job):
        return False
    return state.downtime.end == EVER and (bool(state.open_runs) or next_period(state) is not None)


def _function_of(state: ScheduleState) -> str:
    return state.job.target.removeprefix(f"{SCHEME}:")
