"""Blocking requests to a running scheduler: the methods of `Requests` for threads without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from datetime import datetime
from typing import Any, TypeVar

from kron.apps.embedded.job_info import JobInfo
from kron.apps.embedded.requests import Requests
from kron.apps.embedded.run_info import RunInfo
from kron.apps.embedded.running import current_loop
from kron.engine.period_report import PeriodReport
from kron.errors import UsageError

T = TypeVar("T")


class BlockingRequests:
    """Methods that control and inspect jobs, for plain functions: `s.sync.pause("report")`.

    Each method waits for its answer and returns what the async method of the same name returns. You can call the
    methods in any thread that has no running event loop: in Flask and Django views, in scripts and in plain jobs.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def next(self, name: str) -> datetime | None:
        """Return the next run time of a job in its time zone; None if it has no next run."""
        return self._wait(self._requests.next(name))

    def why(self, name: str, at: datetime | None = None) -> PeriodReport:
        """Return the report of a job's last period up to `at`: its outcome and its reason."""
        return self._wait(self._requests.why(name, at))

    def pause(self, name: str) -> None:
        """Pause a job in every process until it is resumed."""
        self._wait(self._requests.pause(name))

    def resume(self, name: str) -> None:
        """Resume a job. Periods that passed during the pause are dropped."""
        self._wait(self._requests.resume(name))

    def trigger(self, name: str) -> str:
        """Run a job now, in addition to its schedule, and return the key of the run."""
        return self._wait(self._requests.trigger(name))

    def delete(self, name: str) -> None:
        """Delete a job here and in the store. Its history is kept. A process that declares the job defines it again."""
        self._wait(self._requests.delete(name))

    def jobs(
        self, prefix: str = "", *, labels: Mapping[str, str] | None = None, after: str = "", limit: int = 100
    ) -> list[JobInfo]:
        """Return the jobs in the store, in the order of their names, including those of other processes."""
        return self._wait(self._requests.jobs(prefix, labels=labels, after=after, limit=limit))

    def get(self, name: str) -> JobInfo:
        """Return a job."""
        return self._wait(self._requests.get(name))

    def runs(self, name: str, *, before: str = "", limit: int = 20) -> list[RunInfo]:
        """Return the runs of a job, newest first."""
        return self._wait(self._requests.runs(name, before=before, limit=limit))

    def result(self, key: str, timeout: float | None = None) -> RunInfo:
        """Wait until a run has ended, in any process, and return its record."""
        return self._wait(self._requests.result(key, timeout))

    def _wait(self, request: Coroutine[Any, Any, T]) -> T:
        try:
            if current_loop():
                hint = "await the method of the scheduler itself: `await s.pause(name)`, not `s.sync.pause(name)`"
                raise UsageError("IN_A_LOOP", "s.sync cannot be used inside an event loop", hint=hint)
            return self._requests._require_running(_name(request)).wait_for(request)
        finally:
            request.close()  # has an effect only if the request was never started


def _name(request: Coroutine[Any, Any, Any]) -> str:
    """Return the name of the method that a coroutine is a call of."""
    return str(getattr(request, "__name__", "the method"))
