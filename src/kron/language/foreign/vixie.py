"""The vixie reader: crontab lines as Debian's cron runs them.

It differs from the service dialect in two rules. A day field that begins with `*` does not restrict, so the other one
must match too: `0 0 */2 * MON` needs both. A line whose minute and hour both list values runs once per listed time on
the day of a clock change; any other line follows the clock on the wall.
"""

from __future__ import annotations

from dataclasses import replace

from kron.errors import did_you_mean
from kron.language.fault import Fault
from kron.language.field_errors import MACROS
from kron.language.foreign.assembly import assemble
from kron.language.grammar import Grammar
from kron.language.options import Options
from kron.language.plus import with_days
from kron.language.posix import read_five_fields
from kron.language.tokens import Token, tokens
from kron.timing.schedule import Schedule
from kron.timing.schedule.cron import MONTH_DAYS, WEEK, Cron
from kron.timing.schedule.days import Days
from kron.timing.schedule.dst import AFTER_FIRST, WALL

GRAMMAR = Grammar("vixie", steps=True, names=True, seven=True)


def read_schedule(text: str, options: Options) -> Schedule:
    """Return the schedule of five fields or a macro."""
    words = tokens(_fields_text(text), 2)
    is_repeating = any(word.text.startswith("*") for word in words)
    return assemble(text, read_cron(text), options.zone, options.policy, WALL if is_repeating else AFTER_FIRST)


def read_cron(text: str) -> Cron:
    """Return the cron line of five fields or a macro. Unlike `read`, it accepts a line that never runs."""
    fields_text = _fields_text(text)
    tilde = fields_text.find("~")
    if tilde >= 0:
        message, hint = "a random time (~) is not supported", "write a fixed time, and spread the runs with @win"
        raise Fault("UNSUPPORTED_SYNTAX", message, tilde, tilde + 1, hint)
    line = read_five_fields(fields_text, GRAMMAR)
    fields = tokens(fields_text)
    return with_star_rule(line, fields[2].text, fields[4].text)


def with_star_rule(line: Cron, day: str, weekday: str) -> Cron:
    """Return a cron line under Debian's rule: both day fields must match if one of them begins with `*`.

    Args:
        line: The cron line, read by the rule that either field is enough.
        day: Text of the day of the month.
        weekday: Text of the day of the week.
    """
    is_day_star, is_weekday_star = day.startswith("*"), weekday.startswith("*")
    if not is_day_star and not is_weekday_star:
        return line
    any_day, any_weekday = is_day_star and line.days == MONTH_DAYS, is_weekday_star and line.weekdays == WEEK
    return with_days(replace(line, any_day=any_day, any_weekday=any_weekday), Days(both=True))


def _fields_text(text: str) -> str:
    """Return the five fields of a macro; any other text is returned unchanged."""
    words = tokens(text, 2)
    if len(words) != 1 or not words[0].text.startswith("@"):
        return text
    return _fields_of_macro(words[0])


def _fields_of_macro(word: Token) -> str:
    name = word.text
    if name in MACROS:
        return MACROS[name]
    if name == "@reboot":
        message, hint = "a boot is not a time; krond runs it", "write a time, such as @daily"
    else:
        message = f"unknown macro {name[:40]!r}"
        hint = did_you_mean(name, MACROS, f"use one of {', '.join(MACROS)}")
    raise Fault("MACRO", message, word.start, word.end, hint, {"field": "expression", "reason": message})
