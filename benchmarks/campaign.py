"""Kron against the oracle on random schedules, zones and instants: `make oracle`.

A case is a schedule, a stretch of time in a zone, and an instant in it. All occurrences of the
stretch must be those of the oracle, forwards and backwards, and so must the neighbours of the
instant. Stretches lie near changes of offset more often than not, in odd zones, and in years from
400 to 9600; expressions are aimed at a moment of their stretch, so that most of them hit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tests.oracle import EPOCH, MONTHS, WEEKDAYS, Tick, first_after, last_upto, occurrences, rules_of, walk

import kron
from kron.timing.period import next_nominal, prev_nominal
from kron.timing.zone import moment, zone_names

DAY = 86_400
LONG = 45 * DAY  # where only schedules of at most one run a day are tried
SHARE = 20  # cases that look at the same stretch, so that it is walked once
ODD_ZONES = (
    "Australia/Lord_Howe", "America/Havana", "Africa/Cairo", "Asia/Kathmandu", "Pacific/Apia", "Africa/Casablanca",
    "Asia/Tehran", "America/St_Johns", "Europe/Dublin", "Antarctica/Troll", "Pacific/Chatham", "Asia/Gaza",
    "Africa/Monrovia", "America/Scoresbysund", "Europe/Amsterdam", "Pacific/Kwajalein", "Asia/Manila",
    "America/Juneau", "Asia/Beirut", "America/Nuuk", "UTC", "America/New_York", "Europe/Berlin",
)  # fmt: skip
ANECDOTES = (
    ("Pacific/Apia", "2011-12-30"),  # a day that never was
    ("Pacific/Kwajalein", "1993-08-21"),  # another
    ("Africa/Monrovia", "1972-01-07"),  # from -0:44:30 to UTC
    ("Europe/Amsterdam", "1937-07-01"),  # from +1:19:32 to +1:20, where the tz database keeps it
    ("Europe/Dublin", "1916-10-01"),  # from +0:34:39 to UTC
    ("Australia/Lord_Howe", "2026-04-05"),  # half an hour twice
    ("America/Havana", "2026-03-08"),  # no midnight
    ("Africa/Cairo", "2026-04-24"),  # no midnight
    ("Asia/Beirut", "2026-03-29"),  # no midnight
    ("America/Juneau", "1867-10-19"),  # from Russia to America: a day twice
    ("Asia/Manila", "1844-12-31"),  # across the date line: a day that never was
    ("Antarctica/Troll", "2026-03-29"),  # two hours at once
    ("America/St_Johns", "1988-04-03"),  # two hours at once, at 00:01
    ("Africa/Casablanca", "2026-02-15"),  # back for Ramadan
)


class Stretch(NamedTuple):
    """A stretch of time on the wall of a zone, `start <= t < end`; looked at by seconds or by minutes."""

    zone: str
    start: int
    end: int
    seconds: bool


class Case(NamedTuple):
    """A schedule, a stretch, and an instant in it."""

    expression: str
    dialect: str
    stretch: Stretch
    at: int


look_at = lru_cache(4)(lambda stretch: walk(stretch.zone, stretch.start, stretch.end, seconds=stretch.seconds))


def cases(seed: int, count: int) -> Iterator[Case]:
    """That many cases, the same ones for the same seed."""
    rng, zones = Random(seed), sorted(zone_names())
    for number in range(count):
        if number % SHARE == 0:
            stretch = random_stretch(rng, zones)
        aim = rng.choice(look_at(stretch))
        dialect = "service" if stretch.seconds else rng.choice(("kron", "kron", "service"))
        at = aim.t + rng.choice((0, 0, -1, 1, rng.randrange(-120, 120)))
        at = min(max(at, stretch.start), stretch.end - 1)
        yield Case(_expression(rng, aim, dialect, stretch), dialect, stretch, at)


def difference(case: Case) -> str:
    """Where Kron and the oracle part, in words; empty if nowhere."""
    stretch = case.stretch
    expected = occurrences(case.expression, look_at(stretch))
    try:
        schedule = kron.parse(case.expression, dialect=case.dialect, timezone=stretch.zone)
    except kron.KronError as error:
        return f"{error.code} although there is {moment(expected[0])}" if expected or error.code != "NEVER" else ""
    most = len(expected) + 2  # more is wrong already
    forwards = [p.nominal for p, _ in zip(kron.periods(schedule, moment(stretch.start - 1)), range(most), strict=False)]
    forwards = list(takewhile(lambda t: t < stretch.end, forwards))
    if forwards != expected:
        return "forwards " + first_unlike(forwards, expected)
    backwards = list(takewhile(lambda t: t >= stretch.start, _backwards(schedule, stretch.end - 1, most)))
    if backwards != expected[::-1]:
        return "backwards " + first_unlike(backwards, expected[::-1])
    return _neighbours(schedule, expected, case)


def smaller(case: Case) -> Case:
    """A case that differs too, with as many fields as possible written as `*` or as one of their elements."""
    fields = case.expression.split()
    for place, field in enumerate(fields):
        for simpler in ("*", *field.split(",")):
            tried = case._replace(expression=" ".join([*fields[:place], simpler, *fields[place + 1 :]]))
            if simpler != field and difference(tried):
                return smaller(tried)
    return case


def _backwards(schedule: kron.Schedule, t: int, most: int) -> Iterator[int]:
    for _ in range(most):
        found = prev_nominal(schedule, t)
        if found is None:
            return
        yield found
        t = found - 1


def _neighbours(schedule: kron.Schedule, expected: list[int], case: Case) -> str:
    after, upto = first_after(expected, case.at), last_upto(expected, case.at)
    found = next_nominal(schedule, case.at)
    if after is not None and found != after:
        return f"next after {moment(case.at)}: {found} instead of {after}"
    if after is None and found is not None and found < case.stretch.end:
        return f"next after {moment(case.at)}: {found} instead of none before {case.stretch.end}"
    last = kron.last_period(schedule, moment(case.at) + timedelta(microseconds=999_999))
    if upto is not None and (last is None or last.nominal != upto):
        return f"latest up to {moment(case.at)}: {last} instead of {upto}"
    return ""


def first_unlike(found: list[int], expected: list[int]) -> str:
    """The first place where two lists of instants differ, in words."""
    place = next(i for i in range(len(found) + len(expected)) if found[i : i + 1] != expected[i : i + 1])
    shown = [moment(times[place]).isoformat() if place < len(times) else "nothing" for times in (found, expected)]
    return f"at occurrence {place}: {shown[0]} instead of {shown[1]}"


def random_stretch(rng: Random, zones: list[str]) -> Stretch:
    """A stretch of some days or hours, mostly near a change of offset."""
    seconds = rng.random() < 0.15
    if rng.random() < 0.1:
        zone, day = rng.choice(ANECDOTES)
        middle = _instant(datetime.fromisoformat(day).replace(tzinfo=UTC)) + rng.randrange(-DAY, DAY)
    else:
        zone = rng.choice(ODD_ZONES) if rng.random() < 0.6 else rng.choice(zones)
        middle = _near_a_change(rng, rules_of(zone), _year(rng))
    length = rng.choices((DAY, 2 * DAY, 3 * DAY, LONG, 400 * DAY), (300, 400, 260, 30, 3))[0]
    if seconds or _has_seconds(rules_of(zone), middle):
        length = rng.randrange(1, 4) * 3600
    start = middle - rng.randrange(length)
    return Stretch(zone, start, start + length, seconds)


def _year(rng: Random) -> int:
    common, early, late, far = range(1970, 2038), range(1880, 1970), range(2038, 2500), range(400, 9600)
    return rng.choice(rng.choices((common, early, late, far), (60, 20, 15, 5))[0])


def _near_a_change(rng: Random, rules: ZoneInfo, year: int) -> int:
    """An instant within a day of a change of offset in that year, if there is one; else any."""
    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366)]
    offsets = [day.astimezone(rules).utcoffset() for day in days]
    changes = [day for day, before, after in zip(days, offsets, offsets[1:], strict=False) if before != after]
    return _instant(rng.choice(changes or days)) + rng.randrange(DAY)


def _has_seconds(rules: ZoneInfo, t: int) -> bool:
    days = (moment(t) + timedelta(days=n) for n in (-4, -1, 0, 1, 4))
    return any(day.astimezone(rules).utcoffset() % timedelta(minutes=1) for day in days)


def _instant(time: datetime) -> int:
    return (time - EPOCH) // timedelta(seconds=1)


def _expression(rng: Random, aim: Tick, dialect: str, stretch: Stretch) -> str:
    sunday = 7 if dialect == "service" and rng.random() < 0.3 else 0
    rare = stretch.end - stretch.start >= LONG
    fields = [
        str(aim.minute) if rare else cron_field(rng, 0.1, aim.minute, 0, 59),
        str(aim.hour) if rare else cron_field(rng, 0.3, aim.hour, 0, 23),
        cron_field(rng, 0.5, aim.day, 1, 31),
        cron_field(rng, 0.7, aim.month, 1, 12, MONTHS),
        cron_field(rng, 0.5, aim.weekday or sunday, 0, 7 if sunday else 6, () if sunday else WEEKDAYS),
    ]
    return " ".join([cron_field(rng, 0.1, aim.second, 0, 59), *fields] if stretch.seconds else fields)


def cron_field(rng: Random, star: float, aim: int, low: int, high: int, names: Sequence[str] = ()) -> str:
    """A field that mostly names the value it is aimed at, in one of the ways that people write."""
    if rng.random() < star:
        return "*"
    elements = [_element(rng, aim if rng.random() < 0.75 else rng.randint(low, high), low, high, names)]
    while rng.random() < 0.3:
        elements.append(_element(rng, rng.randint(low, high), low, high, names))
    return ",".join(rng.sample(elements, len(elements)))


def _element(rng: Random, value: int, low: int, high: int, names: Sequence[str]) -> str:
    first, last, step = rng.randint(low, value), rng.randint(value, high), rng.choice((1, 2, 3, 5, 7, 10, 15, 30))
    written = dict(enumerate(names, low)) if names and rng.random() < 0.4 else {}
    first, last, value = (written.get(n, n) for n in (first, last, value))
    if written:
        first, last, value = (rng.choice((str.upper, str.lower, str.title))(name) for name in (first, last, value))
    return rng.choices((f"{value}", f"{first}-{last}", f"*/{step}", f"{first}-{last}/{step}"), (4, 2, 2, 1))[0]


def run(
    description: str,
    make: Callable[[int, int], Iterator[Case]],
    compare: Callable[[Case], str],
    reduce: Callable[[Case], Case],
) -> int:
    """Run a campaign as a command; the verdict is the last line.

    Args:
        description: What the command does.
        make: Makes cases out of a seed and their number.
        compare: Where Kron and the oracle differ in a case, in words; empty if nowhere.
        reduce: Makes a case that differs smaller.
    """
    options = argparse.ArgumentParser(description=description)
    options.add_argument("count", type=int, nargs="?", default=100_000)
    options.add_argument("--seed", type=int, default=int(time.time()))
    given = options.parse_args()
    print(f"{given.count} cases, seed {given.seed}", flush=True)
    began = time.perf_counter()
    for number, case in enumerate(make(given.seed, given.count), 1):
        if compare(case):
            case = reduce(case)
            print(f"\ncase {number} of seed {given.seed}: {compare(case)}")
            print(f"schedule = kron.parse({case.expression!r}, dialect={case.dialect!r}, zone={case.stretch.zone!r})")
            print(f"between {moment(case.stretch.start)} and {moment(case.stretch.end)}, at {moment(case.at)}")
            print("DIFFERENT")
            return 1
        if number % 5_000 == 0:
            print(f"{number} cases, {time.perf_counter() - began:.0f} s, no difference", flush=True)
    print(f"EQUAL: Kron and the oracle agree on {given.count} of {given.count} cases (seed {given.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(run(__doc__.partition("\n")[0], cases, difference, smaller))
