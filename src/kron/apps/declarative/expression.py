"""Cron expressions of registrations: strict POSIX, on the wall clock of the host."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kron.apps.declarative.errors import CronCalculationError, FieldParseError, InvalidCronExpressionError
from kron.core.period import next_nominal
from kron.core.policy import DECLARATIVE, MILLISECOND
from kron.core.schedule import Schedule
from kron.core.zone import rfc3339
from kron.errors import KronError, LanguageError
from kron.language import parse
from kron.language.words import words

FIELDS = ("minute", "hour", "day", "month", "weekday")
FOR_EVER = 3_650 * 86_400 * 1_000 * MILLISECOND  # nobody but a restart says that a callback is lost


def read_expression(text: str, zone: str) -> Schedule:
    """The schedule of an expression, or an InvalidCronExpressionError."""
    try:
        return parse(text, dialect="posix", zone=zone)
    except LanguageError as error:
        field, reason = str(error.details.get("field")), str(error.details.get("reason"))
        raise InvalidCronExpressionError(text, field, reason, _field_error(text, field, reason)) from error


def next_occurrence(schedule: Schedule, text: str, now: int) -> int:
    """The first occurrence after a second, or a CronCalculationError if no day is one, ever."""
    found = next_nominal(schedule, now)
    if found is None:
        never = KronError("NEVER", "no month has such a day", hint="choose a day that exists")
        raise CronCalculationError(text, rfc3339(now), never) from never
    return found


def with_delay(schedule: Schedule, delay: timedelta) -> Schedule:
    """The schedule with the policy of this scheduler, and a retry after the delay."""
    after = delay // timedelta(microseconds=1) * 1_000
    return replace(schedule, policy=replace(DECLARATIVE, retry_after=after, run_lease=FOR_EVER))


def _field_error(text: str, field: str, reason: str) -> FieldParseError | None:
    """What is wrong with the one field; None if it is the number of fields."""
    found = words(text)
    if field not in FIELDS or len(found) != len(FIELDS):
        return None
    return FieldParseError(field, found[FIELDS.index(field)], reason)
