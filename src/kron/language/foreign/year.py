"""Year fields: a year or a range of years is the validity of a schedule."""

from __future__ import annotations

import re

from kron.errors import clip
from kron.language.fault import Fault
from kron.language.tokens import Token
from kron.timing.calendar import Date, day_of
from kron.timing.schedule.head import Moment
from kron.timing.schedule.terms import ALWAYS, Valid
from kron.timing.zone import DAY

FIRST_YEAR = 1970
_YEARS = re.compile(r"([0-9]{4})(?:-([0-9]{4}))?", re.ASCII)


def read_years(field: Token, last_year: int) -> Valid:
    """Return the validity of a year field. `last_year` is the highest year that the field can have."""
    if field.text == "*":
        return ALWAYS
    if "," in field.text or "/" in field.text:
        message, hint = "the year field has a list or a step", "write two schedules, or one range such as 2026-2028"
        raise Fault("NOT_SAYABLE", message, field.start, field.end, hint, {"field": "year", "reason": "has a list"})
    match = _YEARS.fullmatch(field.text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not FIRST_YEAR <= first <= last_year or not FIRST_YEAR <= last <= last_year:
        reason = f"value {clip(field.text)!r} is not a year from {FIRST_YEAR} to {last_year}"
        details: dict[str, object] = {"field": "year", "reason": reason}
        hint = "write *, a year such as 2026, or a range such as 2026-2028"
        raise Fault("OUT_OF_RANGE", f"year field {reason}", field.start, field.end, hint, details)
    if first > last:
        message = f"year field range {first}-{last} is reversed"
        raise Fault("REVERSED_RANGE", message, field.start, field.end, f"write {last}-{first}")
    return Valid(_start_of(first), Moment(_start_of(last + 1).second - 1))


def _start_of(year: int) -> Moment:
    day = day_of(Date(year, 1, 1))
    assert day is not None  # noqa: S101  every year has a January 1
    return Moment(day * DAY)
