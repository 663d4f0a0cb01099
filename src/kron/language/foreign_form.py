"""Texts of other schedulers: what they would be in a dialect of Kron.

A rewritten text is only a candidate. A hint names it if a dialect accepts it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kron.language.grammar import DAY_NAMES


class Candidate(NamedTuple):
    """Text that can replace a foreign one, and the time zone that the foreign text names."""

    text: str
    zone: str = ""


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


def _plain_characters(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the text with plain characters in place of those that only look like them, such as full-width digits."""
    text = "".join("-" if unicodedata.category(char) == "Pd" else char for char in match[0])
    yield Candidate(unicodedata.normalize("NFKC", text))


def _zone_first(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(match[2], match[1])


def _zone_last(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(match[1], match[2])


def _rate(match: re.Match[str]) -> Iterator[Candidate]:
    number, unit = match[1], match[2].lower()
    if number == "1":
        yield Candidate({"minute": "* * * * *", "hour": "hourly", "day": "daily"}[unit])
    yield Candidate(f"every {number} {unit}s")


def _every_minute(_: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate("* * * * *")


def _seconds(match: re.Match[str]) -> Iterator[Candidate]:
    number = int(match[1] or "1")
    if number and 60 % number == 0:
        yield Candidate(f"*/{number} * * * * *" if number > 1 else "* * * * * *")
    yield Candidate(f"every {number}s from 1970-01-01T00:00Z")


def _every(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(f"every {match[1]}")
    yield Candidate(f"every {match[1]} from 1970-01-01T00:00Z")


def _moment(match: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate(f"at {match[1]}")


def _at_time(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `every monday at 9am`: a sentence only has approximate times."""
    hour, minute, half = int(match[2]), int(match[3] or 0), (match[4] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    day = match[1].lower()
    weekday = "MON-FRI" if day.startswith(("weekday", "on weekday")) else day[:3].upper()
    yield Candidate(f"{minute} {hour} * * {weekday if weekday in (*DAY_NAMES, 'MON-FRI') else '*'}")


def _aws(match: re.Match[str]) -> Iterator[Candidate]:
    minute, hour, day, month, weekday, year = match[1].split()
    if year == "*":
        yield from _quartz_fields([minute, hour, day, month, weekday])


def _quartz(match: re.Match[str]) -> Iterator[Candidate]:
    second, *fields = match[0].split()
    if fields[5:] not in ([], ["*"]):
        return
    for candidate in _quartz_fields(fields[:5]):
        yield candidate if second == "0" else Candidate(f"{_stepped(second, 59)} {candidate.text}")


def _quartz_fields(fields: list[str]) -> Iterator[Candidate]:
    """Yield the five fields of a Quartz text. Its weekdays are numbered from 1 for Sunday."""
    *others, weekday = fields
    if "/" not in weekday:
        day, hash_sign, nth = weekday.partition("#")
        weekday = re.sub("[1-7]", lambda digit: DAY_NAMES[int(digit[0]) - 1], day) + hash_sign + nth
    others = [_stepped(field, high) for field, high in zip(others, (59, 23, 31, 12), strict=True)]
    yield from _unhashed(" ".join([*others, weekday]).replace("?", "*").split())


def _stepped(field: str, high: int) -> str:
    """Return `0/15` as `*/15`, and `5/15` as `5-59/15`."""
    match = re.fullmatch("([0-9]+)/([0-9]+)", field)
    if not match:
        return field
    return f"*/{match[2]}" if match[1] == "0" else f"{match[1]}-{high}/{match[2]}"


def _five_fields(match: re.Match[str]) -> Iterator[Candidate]:
    yield from _unhashed(match[0].replace("?", "*").split())


def _unhashed(fields: list[str]) -> Iterator[Candidate]:
    """Yield the fields. `MON#1` becomes the first seven days of the month, of which only a Monday is allowed."""
    match = re.fullmatch("([A-Za-z0-9]+)#([1-5])", fields[4])
    if not match:
        yield Candidate(" ".join(fields))
    elif fields[2] == "*":
        first = 7 * int(match[2]) - 6
        days = f"{first}-{min(first + 6, 31)}"
        yield Candidate(" ".join([*fields[:2], days, fields[3], "*", f"@only(dow={match[1].upper()})"]))


def _jenkins(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the sentence of a Jenkins text: both select one time per job, and keep it."""
    minute, hour, day, month, weekday = match[0].split()
    if (day, month) != ("*", "*"):
        return
    every_hours = re.fullmatch("[H*]/([0-9]+)", hour)
    if (minute, weekday) == ("H", "*") and hour in ("*", "H"):
        yield Candidate("hourly" if hour == "*" else "daily")
    elif (minute, weekday) == ("H", "*") and every_hours:
        yield Candidate(f"every {every_hours[1]} hours")
    elif (hour, weekday) == ("*", "*") and minute.startswith("H/"):
        yield Candidate(f"every {minute[2:]} minutes")
    elif (minute, hour) == ("H", "H"):
        yield Candidate(_weekday_sentence(weekday.upper()))
    elif minute == "H" and "H" not in hour + weekday:
        yield Candidate(f"0 {hour} * * {weekday} @win(after,1h)")


def _weekday_sentence(weekday: str) -> str:
    """Return the sentence of a weekday field."""
    if weekday in ("1-5", "MON-FRI"):
        return "daily on weekdays"
    names = [*_WEEKDAYS, "sunday"]
    number = DAY_NAMES.index(weekday) if weekday in DAY_NAMES else int(weekday) if weekday in "01234567" else -1
    return f"weekly on {names[number]}" if number >= 0 else "weekly"


def _systemd(match: re.Match[str]) -> Iterator[Candidate]:
    weekdays, _, month, day, hour, minute, second, zone = match.groups()
    weekday = re.sub("([a-z]{3})[a-z]*", r"\1", (weekdays or "*").lower()).upper()
    fields = [minute, hour, day or "*", month or "*", weekday]
    if second and second.strip("0"):
        fields.insert(0, second)
    text = " ".join(fields).replace("..", "-")
    yield Candidate(re.sub(r"\b0+(?=[0-9])", "", text), zone or "")


def _last_day(_: re.Match[str]) -> Iterator[Candidate]:
    yield Candidate("0 0 L * *")


def _numbered_weekday(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the cron line of `first monday of the month`, at midnight."""
    day, number = match[2][:3].upper(), match[1].lower()
    yield Candidate(f"0 0 * * {day}L" if number == "last" else f"0 0 * * {day}#{_ORDINALS.index(number) + 1}")


_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_OF_MONTH = "of (?:the |every |each )?month"
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY = "(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?"
_PART = r"[0-9*/,.]+"
_ONCE = "this is a moment: the plus dialect reads at 2026-12-01T09:00"
_AWS = "this is an Amazon EventBridge expression: give five fields"
_SYSTEMD = "this is a calendar event of systemd: give five fields"
_LAST_DAY = "the plus dialect reads L and W"
_TIME = "(?:at )?([0-9]{1,2})(?::([0-9]{2}))? ?(am|pm)?"


def _form(
    pattern: str,
    candidates: Callable[[re.Match[str]], Iterator[Candidate]] = _none,
    explanation: str = "",
    reader: str = "",
) -> Form:
    return Form(re.compile(pattern, re.IGNORECASE), candidates, explanation, reader)


FORMS = (
    _form(r"[a-z][a-z0-9_-]*: (.+)", _rest),
    _form(r'["\'`](.+)["\'`]', _rest),
    _form(r"OnCalendar ?= ?(.+)", _rest, _SYSTEMD),
    _form(r".*[^ -~].*", _plain_characters),
    _form(r"(?:CRON_)?TZ=(\S+) (.+)", _zone_first),
    _form(r"(\S+(?: \S+){4,5}) ([a-z_]+(?:/[a-z0-9_+-]+)+|UTC|GMT)", _zone_last),
    _form(r"cron\((\S+(?: \S+){5})\)", _aws, _AWS, "aws"),
    _form(r"cron\(.*", _none, _AWS, "aws"),
    _form(r"rate\(([0-9]+) (minute|hour|day)s?\)", _rate, _AWS, "aws"),
    _form(r"at\(([0-9T:-]+)\)", _moment, _ONCE, "aws"),
    _form(r"at [0-9]{4}-.*", _none, _ONCE, "plus"),
    _form(r"(?:RRULE:|FREQ=|DTSTART).*", _none, "this is an iCalendar rule: give five fields", "rrule"),
    _form(r"@every (\S+)", _every, "give five fields, or a sentence such as every 2 hours"),
    _form(r"@reboot", _none, "a boot is not a time: no dialect reads @reboot"),
    _form(r"every (?:([0-9]+) ?)?s(?:ec(?:ond)?s?)?", _seconds, "use a number of seconds that divides 60"),
    _form(r"every minute", _every_minute),
    _form(rf"(?:every |on |the )*last day {_OF_MONTH}", _last_day),
    _form(rf"(?:every |on |the )*(first|second|third|fourth|fifth|last) ({_DAY}) {_OF_MONTH}", _numbered_weekday),
    _form(rf"(?:every ?)?(day|daily|weekdays?|{_DAY}s?) {_TIME}", _at_time),
    _form(rf"weekly on ({_DAY}) {_TIME}", _at_time),
    _form(
        rf"(?:((?:{_DAY})(?:(?:\.\.|,|-){_DAY})*) )?(?:(\*)-({_PART})-({_PART}) )?"
        rf"({_PART}):({_PART})(?::({_PART}))?(?: ([a-z_]+/[a-z_/]+|UTC))?",
        _systemd,
        _SYSTEMD,
    ),
    _form(r"[0-9*]+-[0-9*]+-[0-9*]+(?: .*)?", _none, _SYSTEMD),
    _form(r"(?=.*\?)[0-9*/,-]+(?: \S+){5,6}", _quartz, "", "quartz"),
    _form(r"(?=.*[?#])\S+(?: \S+){4}", _five_fields),
    _form(r"(?=.*(?-i:\bH\b))\S+(?: \S+){4}", _jenkins, "H is for Jenkins: give a sentence such as daily", "jenkins"),
    _form(r"\S+(?: \S+)* (?:L|LW|L-[0-9]+|[0-9]+W)(?: \S+)*", _none, _LAST_DAY, "plus"),
    _form(r"\S+(?: \S+){4,6}(?<=[0-9A-Z]L)(?: \S+)?", _none, _LAST_DAY, "plus"),
)
