"""Persisted tasks: the state of each task from earlier schedulers, or the error that says why it is unreadable."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from kron.apps.declarative.errors import (
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
)
from kron.apps.declarative.registration import SCHEME
from kron.engine.store import Store
from kron.errors import KronError, LanguageError, UnreadableRecord
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.stores.row_codec import DecodeError
from kron.timing.job import Job

log = logging.getLogger("kron.declarative")

PAGE_SIZE = 1_000
MAX_RUNS_READ = 1_000  # runs that are read for the timestamps of a task

_FIELD_NAMES = {"schedule": "cronExpression", "source": "cronExpression", "retry_after": "retryDelayMs"}
_TYPE_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", bytes: "bytes"}


class TaskState(StrEnum):
    """The three states of a task."""

    AWAITING_RUN = "AwaitingRun"
    RUNNING = "Running"
    AWAITING_RETRY = "AwaitingRetry"


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A persisted task. Times are in milliseconds since 1970-01-01T00:00:00Z; None if there was none."""

    name: str
    expression: str
    delay: timedelta
    state: TaskState
    last_attempt_at: int | None
    last_success_at: int | None
    last_failure_at: int | None
    pending_retry_until: int | None
    scheduler: str  # identifier of the scheduler that made the last attempt


async def read_states(store: Store, registered: Collection[str] = ()) -> dict[str, ScheduleState]:
    """Return the persisted tasks by name. An unreadable task raises its error, and nothing is changed.

    A missing expression or delay is not an error for a registered task, because the registration provides it.
    """
    states: dict[str, ScheduleState] = {}
    after = ""
    try:
        while page := await store.identities(after, PAGE_SIZE):
            page_states = [state for state in await store.get(page) if state is not None]
            states |= {
                _task_name(state, registered): state
                for state in page_states
                if state.job.target.startswith(f"{SCHEME}:")
            }
            after = page[-1]
    except KronError as error:
        raise unreadable(error) from error
    return states


async def read_record(store: Store, name: str) -> TaskRecord | None:
    """Return the record of one task, for inspection; None if it is unknown."""
    state = (await read_states(store)).get(name)
    if state is None:
        return None
    runs = await store.runs(state.identity, MAX_RUNS_READ)
    successes = [run.changed for run in runs if run.state is State.SUCCESS]
    failures = [run.changed for run in runs if run.state in (State.FAILED, State.WAITING)]
    waiting = [run.not_before for run in state.open_runs if run.state is State.WAITING]
    last = max(runs, key=lambda run: run.sent, default=None)
    return TaskRecord(
        name=name,
        expression=expression_of(state.job),
        delay=timedelta(microseconds=(state.policy.retry_after or 0) // 1_000),
        state=state_of(state.open_runs),
        last_attempt_at=(last.sent or None) if last else None,
        last_success_at=max(successes, default=None),
        last_failure_at=max(failures, default=None),
        pending_retry_until=max(waiting, default=None),
        scheduler=last.owner if last else "",
    )


def expression_of(job: Job) -> str:
    """Return the expression of a persisted task, as it was written; empty if it is missing."""
    return "" if job.source is None else job.source.text


def state_of(runs: Sequence[Run]) -> TaskState:
    """Return the state that the open runs of a task indicate."""
    if any(run.active for run in runs):
        return TaskState.RUNNING
    return TaskState.AWAITING_RETRY if any(run.state is State.WAITING for run in runs) else TaskState.AWAITING_RUN


def unreadable(error: KronError) -> KronError:
    """Return the specified error for an unreadable row; any other error unchanged."""
    if not isinstance(error, UnreadableRecord):
        return error
    cause = error.__cause__
    if isinstance(cause, DecodeError):
        return _decode_error(cause)
    if isinstance(cause, LanguageError):
        return TaskInvalidValueError("cronExpression", cause.place.text, cause.message)
    return TaskInvalidStructureError(f"Invalid task structure: {error.message}", error.details.get("row"))


def _decode_error(error: DecodeError) -> TaskTryDeserializeError:
    field = _FIELD_NAMES.get(error.field, error.field)
    if error.missing or error.value is None:
        return TaskMissingFieldError(field)
    if error.wanted is not type(error.value):
        expected = _TYPE_NAMES.get(error.wanted, "object")
        return TaskInvalidTypeError(field, error.value, expected, _TYPE_NAMES.get(type(error.value), "object"))
    return TaskInvalidValueError(field, error.value, "is not one of the values it can have")


def _task_name(state: ScheduleState, registered: Collection[str]) -> str:
    """Return the name of a persisted task that has everything this scheduler needs."""
    job, delay = state.job, state.policy.retry_after
    if not job.name:
        raise TaskMissingFieldError("name")
    missing = "cronExpression" if not expression_of(job) else "retryDelayMs" if delay is None else ""
    if missing and job.name not in registered:
        raise TaskMissingFieldError(missing)
    if missing:
        log.warning("persisted task %r has no %s; using that of its registration", job.name, missing)
    if delay is not None and delay < 0:
        raise TaskInvalidValueError("retryDelayMs", delay / 1e6, "must be non-negative")
    return job.name
