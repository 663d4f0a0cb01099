"""Core of a scheduler: the state that declarations, requests and the life cycle share."""

from __future__ import annotations

import os
from threading import Lock

from kron.apps.embedded.running import Running, Setup
from kron.errors import UsageError


class SchedulerCore:
    """Setup of a scheduler, its declared jobs, and its parts while it runs."""

    def __init__(self, setup: Setup) -> None:
        self._setup, self.declared = setup, setup.declared
        self._lock = Lock()  # a caller of `add` and a start of the scheduler see the same jobs
        self._inside: Running | None = None

    @property
    def _running(self) -> Running | None:
        """Parts of the scheduler that runs in this process; None after a fork, which copies no threads."""
        running = self._inside
        return running if running and running.pid == os.getpid() else None

    @property
    def is_running(self) -> bool:
        """Whether the scheduler runs in this process. A fork of a process with a running scheduler has none."""
        return self._running is not None

    def _require_running(self, method: str) -> Running:
        """Return the parts of the running scheduler, which a method of that name needs."""
        self._refuse_fork()
        if self._inside is None:
            hint = "call it inside `async with`, or between `s.start()` and `s.shutdown()`"
            raise UsageError("NOT_RUNNING", f"{method}() was called, and the scheduler is not running", hint=hint)
        return self._inside

    def _refuse_fork(self) -> None:
        """Refuse to work in a fork of the process in which the scheduler runs.

        The fork has no threads, and a SQLite library that holds locks of its parent.
        """
        if self._inside and self._inside.pid != os.getpid():
            message = f"the scheduler was started in process {self._inside.pid}, before this process was forked"
            raise UsageError("FORKED", message, hint="start the scheduler after the fork, in each worker process")
