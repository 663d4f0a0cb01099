"""Intervals of other schedulers: `rate(45 minutes)`, `@every 1h30m`, `every 90m` and `PT15M`. They are elapsed time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.language.candidate import Candidate
from kron.language.duration import UNITS, write_duration
from kron.timing.zone import DAY

ANCHOR = "1970-01-01T00:00Z"
FIRST_DAY = "2026-01-05"  # Monday from which a hint counts days and weeks
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": DAY, "w": 7 * DAY}
_AMOUNT = re.compile(r"([0-9]{1,9}) ?([a-z]+)", re.IGNORECASE)
DURATION = "[0-9]{1,9} ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"


def interval(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the candidates of the durations in the first group, such as `1h30m` or `90 minutes`."""
    amounts = _AMOUNT.findall(match[1])
    yield from _candidates(sum(int(number) * _UNIT_SECONDS[unit[0].lower()] for number, unit in amounts))


def single(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the candidates of one unit, such as `every second`."""
    yield from _candidates(_UNIT_SECONDS[match[1][0].lower()])


def iso_duration(match: re.Match[str]) -> Iterator[Candidate]:
    """Yield the candidates of weeks, days, hours, minutes and seconds of an ISO 8601 duration."""
    weeks, days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
    yield from _candidates((weeks * 7 + days) * DAY + hours * 3_600 + minutes * 60 + seconds)


def _candidates(seconds: int) -> Iterator[Candidate]:
    """Yield cron lines and sentences of the same constant interval, then the interval itself."""
    if not seconds:
        return
    yield from (Candidate(text) for text in _within_an_hour(seconds))
    yield from (Candidate(text, elapsed=True) for text in _hours_and_days(seconds))
    yield Candidate(f"every {write_duration(seconds * UNITS['s'])} from {ANCHOR}")


def _within_an_hour(seconds: int) -> Iterator[str]:
    minutes, rest = divmod(seconds, 60)
    if seconds < 60 and 60 % seconds == 0:
        yield f"*/{seconds} * * * * *" if seconds > 1 else "* * * * * *"
    elif seconds == 60:
        yield "* * * * *"
    elif not rest and minutes < 60 and 60 % minutes == 0:
        yield from (f"*/{minutes} * * * *", f"every {minutes} minutes")
    elif seconds == 3_600:
        yield from ("0 * * * *", "hourly")


def _hours_and_days(seconds: int) -> Iterator[str]:
    hours, days = seconds // 3_600, seconds // DAY
    if seconds % 3_600 == 0 and 1 < hours < 24 and 24 % hours == 0:
        yield from (f"0 */{hours} * * *", f"every {hours} hours")
    elif seconds == DAY:
        yield from ("0 0 * * *", "daily")
    elif seconds % DAY == 0:
        yield f"0 0 * * * @days(every={days}d,from={FIRST_DAY})"
