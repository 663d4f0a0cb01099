"""Cron expressions of registrations: strict POSIX, in the local time of the host."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kron.apps.declarative.errors import CronCalculationError, FieldParseError, InvalidCronExpressionError
from kron.errors import InvalidSchedule
from kron.language.fault import Fault
from kron.language.options import Options
from kron.language.reading import read_strictly, zone_of
from kron.language.tokens import words
from kron.timing.period import next_nominal
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import DECLARATIVE, MILLISECOND
from kron.timing.zone import rfc3339

FIELDS = ("minute", "hour", "day", "month", "weekday")
CALLBACK_LEASE_NS = 3_650 * 86_400 * 1_000 * MILLISECOND  # only a restart declares a callback lost


def read_expression(text: str, zone: str) -> Schedule:
    """Return the schedule of an expression. Raise InvalidCronExpressionError if it is invalid."""
    options = Options(zone_of(zone))
    try:
        return read_strictly(text, "posix", options)
    except Fault as fault:
        field, reason = str(fault.details.get("field")), str(fault.details.get("reason"))
        field_error = _field_error(text, field, reason)
        raise InvalidCronExpressionError(text, field, reason, field_error) from fault.within(text)


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
