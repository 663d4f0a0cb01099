"""The plus dialect: the kron dialect with more heads, days, rules for clock changes, and a validity.

Every text of the kron dialect means the same here. New are the heads `at` and `every`, six fields with the seconds
first, L, W and # in the day fields, and the modifiers @days, @dst and @valid.
"""

from __future__ import annotations

from dataclasses import fields as fields_of
from dataclasses import replace

from kron.language import kron
from kron.language.day_tokens import take_tokens
from kron.language.fault import Fault
from kron.language.field_errors import miscount, star
from kron.language.fields import bits, cron, find_fault
from kron.language.grammar import DAY, MODIFIERS, PLUS_ONLY_MODIFIERS, WEEKDAY, Grammar, Kind
from kron.language.kron import Modifier
from kron.language.moment_check import check_moments
from kron.language.options import Options
from kron.language.plus_args import PLUS_READERS, dst_of, read_interval, read_moments
from kron.language.tokens import Token, invalid_character, tokens
from kron.timing.period import next_nominal
from kron.timing.schedule import Head, Schedule
from kron.timing.schedule.cron import Cron, possible
from kron.timing.schedule.days import PLAIN_DAYS, DayCron, Days
from kron.timing.schedule.dst import AFTER_FIRST, WALL, Dst
from kron.timing.schedule.head import Every
from kron.timing.schedule.terms import ALWAYS, PLAIN, Terms, Valid
from kron.timing.zone import EARLIEST

GRAMMAR = Grammar("plus", steps=True, names=True)
PLUS_MODIFIERS = (*MODIFIERS, *PLUS_ONLY_MODIFIERS)
_CRON_FIELDS = tuple(field.name for field in fields_of(Cron) if field.init)


def read_schedule(text: str, options: Options) -> Schedule:
    """Parse a text in the plus dialect. Zone and policy of the options apply unless the text has @tz or @policy."""
    head_text, modifiers = kron.scan(text, PLUS_MODIFIERS)
    values = {each.name: kron.read_body(each, PLUS_READERS) for each in modifiers}
    places = {each.name: each for each in modifiers}
    days: Days = values.pop("days", PLAIN_DAYS)
    values.pop("dst", None)  # its meaning depends on the head
    valid: Valid = values.pop("valid", ALWAYS)
    head = _read_head(head_text, days, places)
    if valid.times is not None and valid.start is None and isinstance(head, Cron):
        message, hint = "times needs the moment from which it counts", "add from=2026-01-01T00:00 to @valid"
        raise _fault_at("TIMES_NEEDS_FROM", places["valid"], message, hint)
    terms = _terms(head, valid, places)
    schedule = kron.build_schedule(head, {"tz": options.zone} | values, options.policy)
    schedule = schedule if terms is PLAIN else replace(schedule, terms=terms)
    if options.stored:  # a later tz database can have moved a clock change: no moment makes the text invalid
        return schedule
    if "dst" not in places:
        check_moments(text, schedule)
    if terms is not PLAIN and next_nominal(schedule, EARLIEST) is None:
        raise _never(text, places)
    return schedule


def with_days(base: Cron, rule: Days, **day_fields: int) -> Cron:
    """Return a cron line with a rule for days; the line itself if the rule changes nothing.

    Args:
        base: The cron line.
        rule: The rule.
        **day_fields: Other values for `days` or `weekdays`; 0 if only the rule selects days of the field.
    """
    if rule.both and (base.any_day or base.any_weekday):
        rule = replace(rule, both=False)  # a field of * matches every day
    if rule == PLAIN_DAYS:
        return base
    values = {name: getattr(base, name) for name in _CRON_FIELDS}
    return DayCron(**values | day_fields, rule=rule)


def terms_of(head: Head, dst: Dst, valid: Valid = ALWAYS) -> Terms:
    """Return the terms of a schedule. Plain terms are always the same object."""
    is_plain = isinstance(head, Cron) and dst == WALL and valid == ALWAYS
    return PLAIN if is_plain else Terms(dst, valid)


def _read_head(text: str, days: Days, places: dict[str, Modifier]) -> Head:
    words = tokens(text)
    if not words or words[0].text not in ("at", "every"):
        return _read_cron(text, words, days)
    if "days" in places:
        hint = "remove it; it selects days of cron fields, such as 0 9 * * * @days(every=2d,from=2026-01-05)"
        raise _fault_at("MISPLACED_MODIFIER", places["days"], f"@days does not go with {words[0].text}", hint)
    return read_moments(text, words) if words[0].text == "at" else read_interval(text, words)


def _read_cron(text: str, words: list[Token], days: Days) -> Cron:
    if len(words) not in (5, 6):
        raise miscount(text, GRAMMAR, max_fields=6)
    day, weekday = words[-3], words[-1]
    if not any(letter in field.text for field in (day, weekday) for letter in "LlWw#"):
        result = with_days(_plain_fields(text, words), days)
    else:
        result = _fields_with_tokens(text, words, days)
    if not possible(result):
        message, hint = "never runs: no selected month has such a day", "choose a day that one of the months has"
        details: dict[str, object] = {"field": "day", "reason": "never occurs"}
        raise Fault("NEVER", message, day.start, words[-2].end, hint, details)
    return result


def _plain_fields(text: str, words: list[Token]) -> Cron:
    try:
        return cron(text, [word.text for word in words], GRAMMAR)
    except Fault:
        raise find_fault(text, words, GRAMMAR) from None


def _fields_with_tokens(text: str, words: list[Token], days: Days) -> Cron:
    """Parse fields of which a day field has tokens. A field with nothing but tokens selects no day by itself."""
    day, weekday = words[-3], words[-1]
    try:
        taken = take_tokens(day.text, weekday.text)
    except Fault as fault:
        raise fault.moved((weekday if fault.details["field"] == "weekday" else day).start) from None
    day_rest, weekday_rest = (
        _other_values(text, day, taken.day, DAY),
        _other_values(text, weekday, taken.weekday, WEEKDAY),
    )
    rest = [*words[:-3], Token(day_rest or "1", day.start), words[-2], Token(weekday_rest or "0", weekday.start)]
    base = _plain_fields(text, rest)
    rule = replace(taken.rule, both=days.both, every=days.every, weeks=days.weeks, start=days.start)
    empty = ({} if day_rest else {"days": 0}) | ({} if weekday_rest else {"weekdays": 0})
    return with_days(base, rule, **empty)


def _other_values(text: str, field: Token, elements: list[Token], kind: Kind) -> str:
    """Return a field without its tokens. Next to a token, each element must be valid alone and cannot be `*`."""
    values = ",".join(element.text for element in elements)
    if values == field.text:
        return values
    for element in elements:
        start = field.start + element.start
        if element.text == "*":
            raise star(element.text, kind).moved(start)
        try:
            bits(element.text, kind, GRAMMAR)
        except Fault as fault:
            raise invalid_character(text) or fault.moved(start) from None
    return values


def _terms(head: Head, valid: Valid, places: dict[str, Modifier]) -> Terms:
    modifier = places.get("dst")
    if modifier is None:
        return terms_of(head, WALL if isinstance(head, Cron) else AFTER_FIRST, valid)
    if isinstance(head, Every):
        message = "@dst does not go with every: elapsed time knows no clock changes"
        raise _fault_at("MISPLACED_MODIFIER", modifier, message, "remove it")
    return terms_of(head, dst_of(head, modifier.body.text), valid)


def _never(text: str, places: dict[str, Modifier]) -> Fault:
    message, hint = "never runs: no period is within @valid", "widen @valid"
    place = places.get("valid") or places.get("dst")
    if "valid" not in places:
        message, hint = "never runs: the clocks skip every moment", "write another rule in @dst"
    if place is None:
        return Fault("NEVER", "never runs", 0, len(text), "choose a later moment")
    return _fault_at("NEVER", place, message, hint)


def _fault_at(code: str, modifier: Modifier, message: str, hint: str) -> Fault:
    return Fault(code, message, modifier.start, modifier.end, hint)
