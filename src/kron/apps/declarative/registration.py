"""Registrations: four values in, a checked Task out. An invalid registration raises before anything is scheduled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kron.apps.declarative.errors import (
    CronCalculationError,
    CronExpressionInvalidError,
    InvalidCronExpressionError,
    InvalidRegistrationError,
    NegativeRetryDelayError,
    RegistrationShapeError,
    RegistrationsNotArrayError,
    ScheduleDuplicateTaskError,
)
from kron.apps.declarative.expression import next_occurrence, read_expression, with_delay
from kron.language.source import source_of
from kron.language.tokens import MAX_TEXT_LENGTH
from kron.timing.job import Job
from kron.timing.schedule import Schedule

SCHEME = "task"  # target scheme of this scheduler; it ignores other schedules in the same store

Registration = tuple[str, str, Callable[[], Any], timedelta]


@dataclass(frozen=True, slots=True)
class Task:
    """A valid registration."""

    name: str
    expression: str  # as written: an additional space is another configuration
    callback: Callable[[], Any]
    delay: timedelta
    schedule: Schedule

    def job(self, identity: str) -> Job:
        """Return the task as a job of the engine, under an identity."""
        source = source_of(self.expression, "posix", self.schedule)
        return Job(identity, self.schedule, name=self.name, target=f"{SCHEME}:{self.name}", source=source)


def read_registrations(registrations: object, zone: str, now: int) -> list[Task]:
    """Return the tasks of a list of registrations. Raise the error of the first problem."""
    if not isinstance(registrations, list | tuple):
        raise RegistrationsNotArrayError
    tasks: dict[str, Task] = {}
    schedules: dict[tuple[str, timedelta], Schedule] = {}  # cache, because many tasks share few schedules
    for index, registration in enumerate(registrations):
        name, expression, callback, delay = _unpack(registration, index)
        _check_name(name)
        if name in tasks:
            raise ScheduleDuplicateTaskError(name)
        if (expression, delay) not in schedules:
            schedules[expression, delay] = _checked_schedule(expression, delay, zone, now)
        tasks[name] = Task(name, expression, callback, delay, schedules[expression, delay])
    return list(tasks.values())


def _unpack(registration: object, index: int) -> Registration:
    match registration:
        case [str() as name, str() as expression, callback, timedelta() as delay] if callable(callback):
            return name, expression, callback, delay
    raise RegistrationShapeError(index, registration)


def _check_name(name: str) -> None:
    if not name:
        raise InvalidRegistrationError("name", name, "must not be empty")
    if len(name) > MAX_TEXT_LENGTH:
        raise InvalidRegistrationError("name", name, "is too long")
    if (not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name)) or "\0" in name:
        raise InvalidRegistrationError("name", name, "has a character that cannot be stored")


def _checked_schedule(expression: str, delay: timedelta, zone: str, now: int) -> Schedule:
    schedule = _schedule(expression, zone, now)
    if delay < timedelta(0):
        raise NegativeRetryDelayError(delay / timedelta(milliseconds=1))
    return with_delay(schedule, delay)


def _schedule(expression: str, zone: str, now: int) -> Schedule:
    try:
        schedule = read_expression(expression, zone)
    except InvalidCronExpressionError as error:
        field, reason = str(error.details["field"]), str(error.details["reason"])
        raise CronExpressionInvalidError(expression, field, reason, error) from error
    try:
        next_occurrence(schedule, expression, now)
    except CronCalculationError as error:
        raise CronExpressionInvalidError(expression, "day", "never occurs: no month has such a day", error) from error
    return schedule
