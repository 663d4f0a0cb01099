"""Unstarted runs: claims of a daemon that was killed before it began their commands.

The journal has each key on disk before its command starts, and the lock proves that the earlier daemon has ended. So a
claim without a journal entry was certainly not started. It goes back to `retry`, and its deadline decides. A claim with
an entry and without a process stays: its command may have run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kron.engine.store import Store
from kron.launchers.command.journal import Journal
from kron.rules.launch_result import LaunchResult, answered, next_check_after
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import RunUpdate

PAGE_SIZE = 1_000  # schedules read at once


async def release_unstarted(store: Store, journal: Journal | None, owner: str) -> int:
    """Release the claims of `owner` whose commands were not begun. Returns how many were released.

    Call it before the worker starts. `journal` must be the one that the earlier daemon used, not a new one; None if the
    earlier daemon was a shadow, which begins nothing.
    """
    released, last = 0, ""
    while page := await store.identities(last, PAGE_SIZE):
        last = page[-1]
        states, now = await store.get_with_time(page)
        claims = [(state, run) for state in states if state for run in state.open_runs if _is_claim(run, owner)]
        begun = await asyncio.to_thread(_begun, journal, [run.key for _, run in claims]) if journal else frozenset()
        unstarted = [claim for claim in claims if claim[1].key not in begun]
        released += sum(await store.update_runs([_release(*claim, now) for claim in unstarted], now))
    return released


def _begun(journal: Journal, keys: Sequence[str]) -> frozenset[str]:
    """Return the keys that have a journal entry."""
    return frozenset(key for key in keys if journal.look(key) is not None)


def _is_claim(run: Run, owner: str) -> bool:
    return run.state is State.LAUNCHING and run.owner == owner


def _release(state: ScheduleState, run: Run, now: int) -> RunUpdate:
    after = answered(run, LaunchResult.UNSENT, state.job_of(run).schedule.policy, now)
    return RunUpdate(run, after, next_check_after(after, state.policy, now))
