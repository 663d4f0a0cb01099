"""Persisted tasks: what is known of each from earlier lives, or the error that says why it cannot be read."""

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
from kron.core.case import Case
from kron.core.run import Run, State
from kron.errors import KronError, LanguageError
from kron.store import Store
from kron.stores.form import Misfit

log = logging.getLogger("kron.declarative")

PAGE = 1_000
NEWEST = 1_000  # runs looked at for the timestamps of a task

_NAMES = {"schedule": "cronExpression", "description": "cronExpression", "retry_after": "retryDelayMs"}
_KINDS = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", bytes: "bytes"}


class TaskState(StrEnum):
    """The three states of a task."""

    AWAITING_RUN = "AwaitingRun"
    RUNNING = "Running"
    AWAITING_RETRY = "AwaitingRetry"


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task as it is persisted. Times are in milliseconds from 1970-01-01T00:00:00Z; None: there was none."""

    name: str
    expression: str
    delay: timedelta
    state: TaskState
    last_attempt_at: int | None
    last_success_at: int | None
    last_failure_at: int | None
    pending_retry_until: int | None
    scheduler: str  # the identifier of the life that made the last attempt


async def read_cases(store: Store, registered: Collection[str] = ()) -> dict[str, Case]:
    """The persisted tasks by their names. One that cannot be read is raised, and nothing is changed.

    An expression or a delay that is missing is no fault in a task that is registered: the registration has it.
    """
    cases: dict[str, Case] = {}
    after = ""
    try:
        while page := await store.identities(after, PAGE):
            found = [case for case in await store.get(page) if case is not None]
            cases |= {_named(case, registered): case for case in found if case.job.target.startswith(f"{SCHEME}:")}
            after = page[-1]
    except KronError as error:
        raise unreadable(error) from error
    return cases


async def read_record(store: Store, name: str) -> TaskRecord | None:
    """What is known of one task, for whoever wants to see."""
    case = (await read_cases(store)).get(name)
    if case is None:
        return None
    runs = await store.runs(case.identity, NEWEST)
    successes = [run.changed for run in runs if run.state is State.SUCCESS]
    failures = [run.changed for run in runs if run.state in (State.FAILED, State.WAITING)]
    waiting = [run.not_before for run in case.open if run.state is State.WAITING]
    last = max(runs, key=lambda run: run.sent, default=None)
    return TaskRecord(
        name=name,
        expression=case.job.description,
        delay=timedelta(microseconds=(case.policy.retry_after or 0) // 1_000),
        state=state_of(case.open),
        last_attempt_at=(last.sent or None) if last else None,
        last_success_at=max(successes, default=None),
        last_failure_at=max(failures, default=None),
        pending_retry_until=max(waiting, default=None),
        scheduler=last.owner if last else "",
    )


def state_of(runs: Sequence[Run]) -> TaskState:
    """Which of the three states the open runs of a task show."""
    if any(run.active for run in runs):
        return TaskState.RUNNING
    return TaskState.AWAITING_RETRY if any(run.state is State.WAITING for run in runs) else TaskState.AWAITING_RUN


def unreadable(error: KronError) -> KronError:
    """The document's error for a row that cannot be read; any other error as it is."""
    if error.code != "CORRUPT_ROW":
        return error
    cause = error.__cause__
    if isinstance(cause, Misfit):
        return _misfit(cause)
    if isinstance(cause, LanguageError):
        return TaskInvalidValueError("cronExpression", cause.place.text, cause.message)
    return TaskInvalidStructureError(f"Invalid task structure: {error.message}", error.details.get("row"))


def _misfit(misfit: Misfit) -> TaskTryDeserializeError:
    field = _NAMES.get(misfit.field, misfit.field)
    if misfit.missing or misfit.value is None:
        return TaskMissingFieldError(field)
    if misfit.wanted is not type(misfit.value):
        expected = _KINDS.get(misfit.wanted, "object")
        return TaskInvalidTypeError(field, misfit.value, expected, _KINDS.get(type(misfit.value), "object"))
    return TaskInvalidValueError(field, misfit.value, "is not one of the values it can have")


def _named(case: Case, registered: Collection[str]) -> str:
    """The name of a persisted task that has all that this scheduler needs."""
    job, delay = case.job, case.policy.retry_after
    if not job.name:
        raise TaskMissingFieldError("name")
    missing = "cronExpression" if not job.description else "retryDelayMs" if delay is None else ""
    if missing and job.name not in registered:
        raise TaskMissingFieldError(missing)
    if missing:
        log.warning("task %r has lost its %s, and takes that of its registration", job.name, missing)
    if delay is not None and delay < 0:
        raise TaskInvalidValueError("retryDelayMs", delay / 1e6, "must be non-negative")
    return job.name
