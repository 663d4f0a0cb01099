"""Comparison of the runs of Debian's cron with the periods of the vixie reader.

One difference is known, and deliberate. If a DST gap skips several listed times of a line, such as `0,30 2 * * *`, cron
runs the line once for each of them, ten seconds apart, and once more if the end of the gap is listed too. In Kron these
are one period, at the end of the gap: a period is identified by its instant. A difference counts as known only if the
number of these runs is exactly the number of listed times, and if they directly follow the gap.

Another deliberate difference does not occur in the compared year: cron runs no listed time of a gap of 3 hours or more.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from kron.language import parse
from kron.timing.period import nominals
from kron.timing.schedule.dst import AFTER_FIRST
from kron.timing.tzdata import host_zone_file

MINUTE, HOUR = 60, 3_600
PAUSE = 10  # seconds that cron sleeps before each further run after a gap
KNOWN = "several listed times in a DST gap: cron runs each, Kron has one period"


@dataclass(frozen=True, slots=True)
class Gap:
    """A DST gap: the instant at which it ends, and the wall-clock times that it skips, as seconds in UTC."""

    at: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A line that cron runs at other times than Kron.

    Attributes:
        line: Five fields or a macro.
        timezone: Time zone.
        missing: Periods of Kron that cron does not run.
        surplus: Runs of cron that are not periods of Kron.
        is_known: Whether it is the deliberate difference.
    """

    line: str
    timezone: str
    missing: tuple[int, ...]
    surplus: tuple[int, ...]
    is_known: bool

    def __str__(self) -> str:
        missing, surplus = (", ".join(_shown(times)) for times in (self.missing, self.surplus))
        return f"{self.line!r} in {self.timezone}: only Kron: {missing or '-'}; only cron: {surplus or '-'}"


def periods(line: str, timezone: str, start: int, end: int) -> list[int]:
    """Return the periods of a line from `start` until before `end`, as the vixie reader reads it."""
    return list(nominals(parse(line, dialect="vixie", timezone=timezone), start - 1, end - 1))


def differences(
    lines: Sequence[str], runs: Sequence[Sequence[int]], timezone: str, start: int, end: int
) -> list[Difference]:
    """Return the lines whose runs by cron are not their periods.

    Args:
        lines: Five fields or a macro each.
        runs: For each line the runs of cron.
        timezone: Time zone.
        start: First second of the interval.
        end: First second after the interval.
    """
    result = []
    for line, of_cron in zip(lines, runs, strict=True):
        of_kron = periods(line, timezone, start, end)
        if of_kron != list(of_cron):
            result.append(difference(line, timezone, of_kron, of_cron, gaps(timezone, start, end)))
    return result


def difference(
    line: str, timezone: str, of_kron: Sequence[int], of_cron: Sequence[int], skipped: Sequence[Gap]
) -> Difference:
    """Return the difference between the periods of a line and its runs by cron."""
    missing = tuple(sorted((Counter(of_kron) - Counter(of_cron)).elements()))
    surplus = tuple(sorted((Counter(of_cron) - Counter(of_kron)).elements()))
    is_fixed = parse(line, dialect="vixie", timezone=timezone).terms.dst == AFTER_FIRST
    is_known = is_fixed and not missing and sum(_repetitions(line, surplus, gap) for gap in skipped) == len(surplus)
    return Difference(line, timezone, missing, surplus, is_known)


@cache
def gaps(timezone: str, start: int, end: int) -> tuple[Gap, ...]:
    """Return the DST gaps that end in an interval."""
    rules, result = host_zone_file(timezone).rules, []
    for hour in range(start, end, HOUR):
        if _offset(rules, hour) >= _offset(rules, hour + HOUR):
            continue
        after = _offset(rules, hour + HOUR)
        at = next(minute for minute in range(hour, hour + HOUR + 1, MINUTE) if _offset(rules, minute) == after)
        result.append(Gap(at, at + _offset(rules, at - 1), at + after))
    return tuple(result)


def _repetitions(line: str, surplus: Sequence[int], gap: Gap) -> int:
    """Return how many runs directly after a gap are further runs for times in the gap; 0 if their number is wrong."""
    listed = periods(line, "UTC", gap.first, gap.end + 1)
    latest = gap.at + MINUTE + PAUSE * len(listed)
    late = [minute for minute in surplus if gap.at <= minute <= latest]
    is_skipped = bool(listed) and listed[0] < gap.end
    return len(late) if is_skipped and len(late) == len(listed) - 1 else 0


def _offset(rules: tzinfo, instant: int) -> int:
    offset = datetime.fromtimestamp(instant, rules).utcoffset() or timedelta()
    return int(offset.total_seconds())


def _shown(times: Sequence[int], limit: int = 3) -> list[str]:
    shown = [f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%MZ}" for time in times[:limit]]
    return [*shown, f"{len(times) - limit} more"] if len(times) > limit else shown
