"""Compare random iCalendar recurrences with dateutil: `make rrule`, or `python -m tests.campaigns.rrule <count>`.

Each recurrence that the reader accepts is compared on naive wall-clock times: its first runs must be those of
dateutil, and it must end where dateutil ends. A refused recurrence is counted by its code. One known disagreement is
not generated: dateutil reads BYDAY=MO,2TU as Mondays that are a second Tuesday, RFC 5545 as the union.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import islice
from multiprocessing import Pool
from random import Random
from typing import NamedTuple

from dateutil.rrule import rrulestr

from kron.errors import LanguageError
from kron.language import parse
from kron.language.canonical import canonical
from kron.timing.period import nominals
from kron.timing.zone import EARLIEST, LATEST

RUNS = 25  # compared of each recurrence
BATCH = 1_000  # recurrences of one seed
NEVER_CHECKS = 2  # per batch; dateutil needs seconds to find that a rule never matches
SLOW = ("FREQ=HOURLY", "FREQ=MINUTELY")  # dateutil needs minutes
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  compared on naive wall-clock times
LAST = EPOCH + timedelta(seconds=LATEST)  # Kron's calendar ends in the year 9702, dateutil's in 9999
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Result(NamedTuple):
    """Outcome of a batch: how many recurrences were compared, the refused ones by code, and the differences."""

    compared: int
    refused: Counter[str]
    differences: list[str]


def batch(seed: int, count: int = BATCH, never_checks: int = NEVER_CHECKS) -> Result:
    """Compare `count` accepted recurrences."""
    random, compared, refused, differences = Random(seed), 0, Counter[str](), list[str]()
    while compared < count:
        text = recurrence(random)
        try:
            schedule = parse(text, dialect="rrule")
        except LanguageError as error:
            refused[error.code] += 1
            if error.code == "NEVER" and never_checks and not any(frequency in text for frequency in SLOW):
                never_checks -= 1
                differences += [f"{text!r} is refused: {error.message}"] if expected(text) else []
            continue
        compared += 1
        excluded = {first for first, _ in schedule.constraints.avoid.dates} if schedule.constraints.avoid else set()
        instants = (instant for instant in nominals(schedule, EARLIEST) if instant // 86_400 not in excluded)
        actual = [EPOCH + timedelta(seconds=instant) for instant in islice(instants, RUNS)]
        if actual != expected(text):
            differences.append(f"{text!r} is read as {canonical(schedule).text!r}")
        shown = canonical(schedule)
        if parse(shown.text, dialect=shown.dialect) != schedule:
            differences.append(f"{text!r} is not the same after it is stored as {shown.text!r}")
    return Result(compared, refused, differences)


def expected(text: str) -> list[datetime]:
    """The first runs by dateutil. It refuses a rule whose times contradict its interval, which never runs."""
    try:
        return [run for run in islice(rrulestr(text.replace(" ", "\n")), RUNS) if run <= LAST]
    except ValueError as error:
        if "empty" not in str(error):
            raise
        return []


def recurrence(random: Random) -> str:
    """A random recurrence that RFC 5545 allows."""
    start = EPOCH + timedelta(days=random.randrange(10_957, 26_000))
    start += timedelta(hours=random.randrange(24), minutes=random.choice([0, 0, 15, 30, random.randrange(60)]))
    start += timedelta(seconds=random.choice([0, 0, 0, random.randrange(60)]))
    frequency = random.choice(["DAILY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY", "MINUTELY"])
    parts = [f"FREQ={frequency}", *interval(random, frequency), *days(random, frequency), *clock(random, frequency)]
    parts += [f"WKST={random.choice(DAYS)}"] if random.random() < 0.3 else []
    end = random.random()
    if end < 0.2:
        parts.append(f"COUNT={random.choice([1, 2, 3, 10, 100])}")
    elif end < 0.4:
        until = start + timedelta(days=random.choice([0, 1, 30, 400, 4_000]), seconds=random.randrange(86_400))
        parts.append(f"UNTIL={stamp(until)}")
    head, *rest = parts
    random.shuffle(rest)
    exclusion = ""
    if random.random() < 0.05 and frequency == "DAILY":
        exclusion = f" EXDATE:{stamp(start)},{stamp(start + timedelta(days=random.randrange(1, 9)))}"
    separator = random.choice(" \n")
    return f"DTSTART:{stamp(start)}{separator}RRULE:{';'.join([head, *rest])}{exclusion}"


def interval(random: Random, frequency: str) -> list[str]:
    """An interval, mostly one that the reader can express."""
    usual = {
        "MINUTELY": [5, 7, 15, 20, 30, 45, 60, 90, 120, 1_440, 2_880],
        "HOURLY": [2, 3, 4, 5, 6, 8, 12, 24, 36, 48],
        "DAILY": [2, 3, 7, 10, 14, 100],
        "WEEKLY": [2, 3, 4, 5, 13],
        "MONTHLY": [2, 3, 4, 5, 6, 12],
        "YEARLY": [1, 1, 1, 2],
    }
    return [f"INTERVAL={random.choice(usual[frequency])}"] if random.random() < 0.6 else []


def days(random: Random, frequency: str) -> list[str]:
    """Parts that select days."""
    parts = []
    if random.random() < 0.25:
        parts.append(f"BYMONTH={numbers(random, range(1, 13))}")
    if frequency != "WEEKLY" and random.random() < 0.3:
        parts.append(f"BYMONTHDAY={numbers(random, [*range(1, 32), *range(-31, 0)])}")
    if random.random() < 0.4:
        ordinals = [1, 2, 3, 4, 5, -1] if frequency in ("MONTHLY", "YEARLY") and random.random() < 0.5 else [""]
        names = random.sample(DAYS, random.choice([1, 1, 2, 5]))
        parts.append("BYDAY=" + ",".join(f"{random.choice(ordinals)}{name}" for name in names))
    elif frequency == "MONTHLY" and len(parts) < 2 and random.random() < 0.2:
        names = random.choice(["MO,TU,WE,TH,FR", "MO,TU,WE,TH,FR,SA,SU", random.choice(DAYS)])
        parts = [part for part in parts if not part.startswith("BYMONTHDAY")]
        parts += [f"BYDAY={names}", f"BYSETPOS={random.choice([1, -1, 2, -2, 5])}"]
    return parts


def clock(random: Random, frequency: str) -> list[str]:
    """Parts that select times of the day."""
    parts = [f"BYHOUR={numbers(random, range(24))}"] if random.random() < 0.2 else []
    parts += [f"BYMINUTE={numbers(random, range(60))}"] if random.random() < 0.2 else []
    return parts + ([f"BYSECOND={numbers(random, range(60))}"] if random.random() < 0.1 else [])


def numbers(random: Random, values: range | list[int]) -> str:
    """A list of one to four numbers."""
    return ",".join(str(number) for number in random.sample(values, random.choice([1, 1, 2, 4])))


def stamp(moment: datetime) -> str:
    """A date and time of iCalendar."""
    return f"{moment:%Y%m%dT%H%M%S}"


def main() -> int:
    """Compare 100,000 recurrences, or as many as the argument says, on two processes."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    started, compared, refused, differences = time.monotonic(), 0, Counter[str](), list[str]()
    with Pool(2) as pool:
        for result in pool.imap_unordered(batch, range(-(-count // BATCH))):
            compared += result.compared
            refused += result.refused
            differences += result.differences
    for difference in differences[:20]:
        print(difference)
    codes = ", ".join(f"{number} {code}" for code, number in refused.most_common())
    print(f"rrule: {compared} recurrences compared with dateutil, {len(differences)} differences; refused: {codes}")
    print(f"rrule: {time.monotonic() - started:.0f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
