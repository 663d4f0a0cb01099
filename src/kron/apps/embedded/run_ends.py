"""Ends of runs: lets requests wait until a run has ended, in this process or in another one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kron.engine.clock import Timer
from kron.engine.events import Event
from kron.engine.store import Store
from kron.errors import NotFound
from kron.rules.run import Run

POLL_SECONDS = 1.0  # seconds until the store is read again, because another process can run the job


class RunEnds:
    """Sink that wakes the requests that wait for the end of a run."""

    def __init__(self, timer: Timer) -> None:
        self.timer = timer
        self.waiting: dict[str, set[asyncio.Event]] = {}  # by the key of the run
        self.stopped = False

    def __call__(self, event: Event) -> None:
        """Receive an event: one about a run that is waited for wakes the waiting requests."""
        if self.waiting:
            for changed in self.waiting.get(event.facts.get("key", ""), ()):
                changed.set()

    def stop(self) -> None:
        """Wake all requests, because the scheduler stops."""
        self.stopped = True
        for changes in self.waiting.values():
            for changed in changes:
                changed.set()

    async def wait(self, store: Store, key: str, timeout: float | None) -> Run | None:
        """Return a run when it has ended; None if the scheduler stops first.

        Args:
            store: The store of the run.
            key: Key of the run.
            timeout: Seconds to wait; None for no limit.

        Raises:
            NotFound: No run has this key.
            TimeoutError: The run has not ended in time.
        """
        limit = None if timeout is None else self.timer.monotonic() + timeout
        with self._waiting_for(key) as changed:
            while True:
                changed.clear()
                (run,) = await store.runs_by_key([key])
                if run is None:
                    raise NotFound("NOT_FOUND", f"run {key} does not exist", hint="use the key of a recorded run")
                if not run.open:
                    return run
                if self.stopped:
                    return None
                seconds = POLL_SECONDS if limit is None else min(POLL_SECONDS, limit - self.timer.monotonic())
                if seconds <= 0:
                    raise TimeoutError(f"run {key} is {run.state} after {timeout} s")
                with suppress(TimeoutError):
                    await self.timer.within(seconds, _wait_for(changed))

    @contextmanager
    def _waiting_for(self, key: str) -> Iterator[asyncio.Event]:
        changed = asyncio.Event()
        self.waiting.setdefault(key, set()).add(changed)
        try:
            yield changed
        finally:
            self.waiting[key].discard(changed)
            if not self.waiting[key]:
                del self.waiting[key]


async def _wait_for(changed: asyncio.Event) -> None:
    await changed.wait()
