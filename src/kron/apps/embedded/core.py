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

    def _require_running(self) -> Running:
        running = self._running
        if running is None:
            message = "the scheduler is not running"
            if self._inside:
                message = f"the scheduler runs in process {self._inside.pid}, from which this process was forked"
            hint = "call it inside `async with`, or after `s.start()` in this process"
            raise UsageError("NOT_RUNNING", message, hint=hint)
        return running
