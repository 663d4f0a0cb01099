"""Scheduler of a web process: started with its first request, never in a process that serves none."""

from __future__ import annotations

import logging
import os
import threading
import time

from kron.apps.embedded import Scheduler
from kron.errors import KronError

START_RETRY_SECONDS = 5.0  # seconds after a failed start until a request tries again
log = logging.getLogger("kron.scheduler")


class ProcessScheduler:
    """Scheduler of an application, started once in each process that serves requests.

    The master process of Gunicorn and the parent process of a reloader serve no requests, so they start none.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.lock = threading.Lock()
        self.started_in = 0  # id of the process in which the scheduler was started
        self.failed: tuple[float, KronError] | None = None  # when the last start failed, and why

    def start(self) -> None:
        """Start the scheduler if this process has not started it. A failure is logged, and the request continues."""
        if self.started_in == os.getpid():
            return
        with self.lock:
            is_recent = self.failed is not None and time.monotonic() < self.failed[0] + START_RETRY_SECONDS
            if self.started_in == os.getpid() or is_recent or self.scheduler.is_running:
                return
            try:
                self.scheduler.start()
            except KronError as error:
                self.failed = time.monotonic(), error
                log.error(
                    "the scheduler cannot start; a request tries again after %.0f s\n%s", START_RETRY_SECONDS, error
                )
            else:
                self.started_in, self.failed = os.getpid(), None

    def running(self) -> Scheduler:
        """Return the scheduler. If its start failed, raise the reason."""
        if not self.scheduler.is_running and self.failed is not None:
            raise self.failed[1]
        return self.scheduler
