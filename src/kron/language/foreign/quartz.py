"""The quartz reader: six or seven fields with the seconds first and ? in one day field."""

from __future__ import annotations

from kron.language.fault import Fault
from kron.language.foreign.assembly import assemble
from kron.language.foreign.quartz_step import check_steps
from kron.language.foreign.question_line import LineFields, read_line
from kron.language.foreign.year import read_years
from kron.language.options import Options
from kron.language.tokens import Token, invalid_character, tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.dst import Dst, Fold, Gap
from kron.timing.schedule.terms import ALWAYS

LAST_YEAR = 2099
SKIP_LAST = Dst(Gap.SKIP, Fold.LAST)  # measured with Quartz 2.3.2 and 2.5.0
FIELD_ORDER = "second minute hour day-of-month month day-of-week [year]"


def read_schedule(text: str, options: Options) -> Schedule:
    """Return the schedule of a Quartz cron expression. A time that comes twice runs the second time only."""
    character_fault = invalid_character(text)
    if character_fault:
        raise character_fault
    fields = tokens(text, 8)
    if len(fields) not in (6, 7):
        raise _miscount(text, fields)
    line = LineFields(*fields[:6])
    check_steps(line)
    head = read_line(line)
    valid = read_years(fields[6], LAST_YEAR) if len(fields) == 7 else ALWAYS
    return assemble(text, head, options.zone, options.policy, SKIP_LAST, valid)


def _miscount(text: str, fields: list[Token]) -> Fault:
    end = len(text.rstrip(" \t"))
    start = fields[7].start if len(fields) > 7 else end
    count = f"{len(fields)} or more" if len(fields) > 7 else str(len(fields))
    hint = "write the seconds first, such as 0" if len(fields) == 5 else f"write {FIELD_ORDER}"
    details: dict[str, object] = {"field": "expression", "reason": f"has {count} fields"}
    message = f"expected 6 or 7 fields, got {count}"
    return Fault("FIELD_COUNT", message, start, max(end, start + 1), hint, details)
