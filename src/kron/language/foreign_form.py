"""Texts of other schedulers: what they would be in a dialect of Kron.

A rewritten text is only a candidate. A hint names it if a dialect accepts it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kron.language import calendar_event, interval_form, phrase_form
from kron.language.candidate import Candidate
from kron.language.dialect import TABLE
from kron.language.zone_hint import ABBREVIATED, OFFSET, zone_of_offset
from kron.timing.schedule.dst import ONCE


class Form(NamedTuple):
    """Shape of foreign texts.

    Attributes:
        pattern: Pattern of the whole text.
        candidates: Function that yields the candidates of a match.
        explanation: What the text is. It is shown if no dialect accepts a candidate.
        reader: Dialect for such texts. If the table has it, its own error is shown in place of the explanation.
    """

    pattern: re.Pattern[str]
    candidates: Callable[[re.Match[str]], Iterator[Candidate]]
    explanation: str = ""
    reader: str = ""


def matching_forms(text: str) -> list[tuple[Form, list[Candidate]]]:
    """Return the shapes that a text has, with their candidates, in the order in which hints prefer them."""
    words = " ".join(text.split())
    matches = ((form, form.pattern.fullmatch(words)) for form in FORMS)
    return [(form, list(form.candidates(match))) for form, match in matches if match]


def _none(_: re.Match[str]) -> Iterator[Candidate]:
    return iter(())


def _rest(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(match[1])


def _named(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the text after a name with a colon, in the dialect of that name if there is one."""
    name = match[1].lower()
    yield Candidate(match[2], dialect=name if name in TABLE else "")


def _plain_characters(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the text with plain characters in place of those that only look like them, such as full-width digits."""
    text = "".join("-" if unicodedata.category(char) == "Pd" else char for char in match[0])
    yield Candidate(unicodedata.normalize("NFKC", text))


def _zone_first(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(match[2], match[1])


def _zone_last(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(match[1], zone_of_offset(match[2]) or match[2])


def _moment(match: re.Match[str]) -> Iterator[Candidate]:
    date, clock, offset = match.groups(default="")
    yield Candidate(f"at {date}T{'0' if clock[1:2] == ':' else ''}{clock}{offset.upper()}")


def _eventbridge(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the fields of EventBridge in their parentheses: only `cron(…)` says how to number the weekdays."""
    yield Candidate(f"cron({match[0]})")


def _five_fields(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield five fields with `*` for `?`, unless they number weekdays: `?` is for Quartz, whose Sunday is 1."""
    fields = ["*" if field == "?" else field for field in match[0].split()]
    if not any(char.isdigit() for char in fields[4].partition("#")[0]):
        yield Candidate(" ".join(fields))


def _crontab_line(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the fields of a line of Debian's crontab, which both restrict the day if one begins with `*`."""
    fields = match[1].split()
    is_both = fields[2] != "*" and fields[4] != "*" and "*" in (fields[2][0], fields[4][0])
    yield Candidate(match[1] + (" @days(match=both)" if is_both else ""), dst=ONCE)


def _celery(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the fields of `crontab(minute=0, hour='*/3')` of Celery. Both day fields must match."""
    if _CELERY_ARGUMENT.sub("", match[1]).strip(", "):
        return  # an argument without its name
    given = {name.lower(): value for name, _, value in _CELERY_ARGUMENT.findall(match[1])}
    fields = [given.get(name, "*").replace(" ", "") for name in _CELERY_FIELDS]
    is_both = fields[2] != "*" and fields[4] != "*"
    yield Candidate(" ".join(fields) + (" @days(match=both)" if is_both else ""))


def _every_second(_: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate("* * * * * *")


_CELERY_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_CELERY_ARGUMENT = re.compile(rf"({'|'.join(_CELERY_FIELDS)}) ?= ?([\"']?)([^\"']+?)\2(?=,|$| )", re.IGNORECASE)
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ONCE = "this is a moment: the plus dialect reads at 2026-12-01T09:00"
_AWS = "this is an Amazon EventBridge expression: give five fields"
_SYSTEMD = "this is a calendar event of systemd: give five fields"
_LAST_DAY = "the plus dialect reads L and W"
_NUMBERED_WEEKDAY = "give the weekday by its name: where ? is allowed, 1 is Sunday"
_FIELDS = r"[^@ ]+(?: [^@ ]+){4,5}"
_FIELD = r"[0-9*/,a-z#-]+"
_ZONE_NAME = rf"[a-z_]+(?:/[a-z0-9_+-]+)+|UTC|GMT|{OFFSET}"
_COMMAND = r"(?!(?:sun|mon|tue|wed|thu|fri|sat)\b)(?:[./~$]\S*(?: .*)?|[a-z_][a-z0-9_.-]* .+)"
_ABBREVIATED = "name the time zone by a city, such as Europe/Paris: an abbreviation such as PST names no zone"


def _form(
    pattern: str,
    candidates: Callable[[re.Match[str]], Iterator[Candidate]] = _none,
    explanation: str = "",
    reader: str = "",
) -> Form:
    return Form(re.compile(pattern, re.IGNORECASE), candidates, explanation, reader)


FORMS = (
    _form(r"([a-z][a-z0-9_-]*): ?(.+)", _named),
    _form(r'["\'`](.+)["\'`]', _rest),
    _form(r"OnCalendar ?= ?(.+)", calendar_event.setting, _SYSTEMD),
    _form(r".*[^ -~].*", _plain_characters),
    _form(r"(?:CRON_)?TZ=(\S+) (.+)", _zone_first),
    _form(rf"({_FIELDS}) ({_ZONE_NAME})", _zone_last),
    _form(rf"({_FIELDS}) @(?:tz[=:]|(?:timezone|time_zone|zone)[=:(])({_ZONE_NAME})\)?", _zone_last),
    _form(rf"({_FIELDS}) @tz\(({OFFSET})\)", _zone_last),
    _form(rf"{_FIELDS} {ABBREVIATED}", _none, _ABBREVIATED),
    _form(r"cron\(.*", _none, _AWS, "aws"),
    _form(rf"rate\(({interval_form.DURATION})\)", interval_form.interval, _AWS),
    _form(r"at\(.*", _none, _ONCE, "aws"),
    _form(r"at [0-9]{4}-.*", _none, _ONCE, "plus"),
    _form(
        rf"({_DATE})[T ]([0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?)(?:\.0+)? ?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?",
        _moment,
        _ONCE,
    ),
    _form(_DATE, _none, "this is a date: add a time of day, as in at 2026-12-01T09:00, which the plus dialect reads"),
    _form(r"(?:RRULE:|FREQ=|DTSTART).*", _none, "this is an iCalendar rule: give five fields", "rrule"),
    _form(rf"@?every ((?:{interval_form.DURATION} ?)+)", interval_form.interval),
    _form(r"@every .*", _none, "give five fields, or a sentence such as every 2 hours"),
    _form(r"@reboot", _none, "a boot is not a time: only krond runs @reboot, in a line of a krontab file"),
    _form(r"every (second|minute|hour)", interval_form.single),
    _form(
        r"(?:R/)?P(?=.)(?:([0-9]{1,4})W)?(?:([0-9]{1,4})D)?"
        r"(?:T(?=.)(?:([0-9]{1,6})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,6})S)?)?",
        interval_form.iso_duration,
    ),
    _form(phrase_form.PERIOD, phrase_form.period),
    _form(phrase_form.WEEKDAY, phrase_form.weekday),
    _form(phrase_form.EVERY_OTHER, phrase_form.every_other),
    _form(phrase_form.MONTHLY, phrase_form.month_day),
    _form(phrase_form.LAST_DAY, phrase_form.last_day),
    _form(phrase_form.NUMBERED, phrase_form.numbered_weekday),
    _form(phrase_form.EVERY_DAY, phrase_form.day_at_time),
    _form(phrase_form.WEEKLY, phrase_form.day_at_time),
    _form(r"crontab\((.*)\)", _celery, "this is a schedule of Celery: give five fields"),
    _form(calendar_event.EVENT, calendar_event.event, _SYSTEMD),
    _form(r"[0-9*]+-[0-9*]+-[0-9*]+(?: .*)?", _none, _SYSTEMD),
    _form(r"\S+ \S+ (?:\? \S+ \S+|\S+ \S+ \?) \S+", _eventbridge, _AWS),
    _form(r"\* \* \* \* \* \* \*", _every_second),
    _form(
        r"\S+ \S+ \S+ (?:\? \S+ \S+|\S+ \S+ \?)(?: \S+)?",
        _none,
        "this is a Quartz expression: give five fields",
        "quartz",
    ),
    _form(r"\S+ \S+ (?:\? \S+ \S+|\S+ \S+ \?)", _five_fields, _NUMBERED_WEEKDAY),
    _form(r"(?=.*(?-i:\bH\b))\S+(?: \S+){4}", _none, "H is for Jenkins: give a sentence such as daily", "jenkins"),
    _form(r"\S+(?: \S+)* (?:L|LW|L-[0-9]+|[0-9]+W)(?: \S+)*", _none, _LAST_DAY, "plus"),
    _form(r"\S+(?: \S+){4,6}(?<=[0-9A-Z]L)(?: \S+)?", _none, _LAST_DAY, "plus"),
    _form(rf"({_FIELD}(?: {_FIELD}){{4}}) {_COMMAND}", _crontab_line),
)
