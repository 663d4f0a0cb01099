"""Cron expressions of registrations: strict POSIX, in the local time of the host."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kron.apps.declarative.errors import CronCalculationError, FieldParseError, InvalidCronExpressionError
from kron.errors import InvalidSchedule, LanguageError
from kron.language import parse
from kron.language.tokens import words
from kron.timing.period import next_nominal
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import DECLARATIVE, MILLISECOND
from kron.timing.zone import rfc3339

FIELDS = ("minute", "hour", "day", "month", "weekday")
CALLBACK_LEASE_NS = 3_650 * 86_400 * 1_000 * MILLISECOND  # only a restart declares a callback lost


def read_expression(text: str, zone: str) -> Schedule:
    """Return the schedule of an expression. Raise InvalidCronExpressionError if it is invalid."""
    try:
        return parse(text, dialect="posix", timezone=zone)
    except LanguageError as error:
        field, reason = str(error.details.get("field")), str(error.details.get("reason"))
        raise InvalidCronExpressionError(text, field, reason, _field_error(text, field, reason)) from error


def next_occurrence(schedule: Schedule, text: str, now: int) -> int:
    """Return the first occurrence after `now`, in seconds. Raise CronCalculationError if there is none."""
    nominal = next_nominal(schedule, now)
    if nominal is None:
        error = InvalidSchedule("NEVER", "no month has such a day", hint="choose a day that exists")
        raise CronCalculationError(text, rfc3339(now), error) from error
    return nominal


def with_delay(schedule: Schedule, delay: timedelta) -> Schedule:
    """Return the schedule with the policy of this scheduler, and a retry after the delay."""
    delay_ns = delay // timedelta(microseconds=1) * 1_000
    return replace(schedule, policy=replace(DECLARATIVE, retry_after=delay_ns, run_lease=CALLBACK_LEASE_NS))


def _field_error(text: str, field: str, reason: str) -> FieldParseError | None:
    """Return the error of the invalid field; None if the number of fields is wrong."""
    fields = words(text)
    if field not in FIELDS or len(fields) != len(FIELDS):
        return None
    return FieldParseError(field, fields[FIELDS.index(field)], reason)
