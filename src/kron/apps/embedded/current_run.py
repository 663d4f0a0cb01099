"""Current run: what a job's function can know about the run that called it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeVar, overload

from kron.engine.launcher import Launch
from kron.errors import UsageError
from kron.timing.schedule.policy import MILLISECOND
from kron.timing.zone import moment

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """The run in which a function is called. Times are in the time zone of the job.

    Attributes:
        key: Idempotency key of the run. Every attempt of the run has the same key.
        job: Name of the job.
        period: Nominal time of the period. For a triggered run, the time of the request.
        chosen_time: Time at which the run was due.
        attempt: Number of this attempt, from 1.
        deadline: Latest time at which the run could start; None for no limit.
        payload: Payload of the job: for a job of a task, its `args` and `kwargs`; None without one.
    """

    key: str
    job: str
    period: datetime
    chosen_time: datetime
    attempt: int
    deadline: datetime | None
    payload: Any = None


_CURRENT: ContextVar[CurrentRun | None] = ContextVar("kron_current_run", default=None)


class _Missing:
    """Type of the absent default."""


_MISSING = _Missing()


@overload
def current_run() -> CurrentRun: ...
@overload
def current_run(default: D) -> CurrentRun | D: ...
def current_run(default: object = _MISSING) -> object:
    """Return the run in which a job of `Scheduler` is called, in an async function or in a plain one.

    Args:
        default: Value to return outside a run. Without it, a call outside a run is an error.

    Raises:
        UsageError: There is no current run, and no default is given.
    """
    run = _CURRENT.get()
    if run is not None:
        return run
    if isinstance(default, _Missing):
        hint = "call it in the function of a job, or give a default: current_run(None)"
        raise UsageError("NO_RUN", "current_run() was called outside a run", hint=hint)
    return default


@contextmanager
def as_current(run: CurrentRun) -> Iterator[None]:
    """Make a run the current one inside the context."""
    token = _CURRENT.set(run)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def run_of(launch: Launch) -> CurrentRun:
    """Return the current run of a launch."""
    run, schedule = launch.run, launch.job.schedule
    zone, limit = schedule.zone.rules, schedule.policy.deadline
    deadline = None if limit is None else local_time(run.due + limit // MILLISECOND, zone)
    period = moment(run.nominal).astimezone(zone)
    payload = None if launch.job.payload is None else json.loads(launch.job.payload)
    return CurrentRun(run.key, launch.job.name, period, local_time(run.due, zone), run.attempt, deadline, payload)


def local_time(milliseconds: int, zone: tzinfo) -> datetime:
    """Return an instant in milliseconds as a datetime in a time zone."""
    return (moment(milliseconds // 1000) + timedelta(milliseconds=milliseconds % 1000)).astimezone(zone)
