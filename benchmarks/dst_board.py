"""Every change of the clocks in 2026, under ten common expressions, as Kron and others answer it: `make dst-board`.

A case is one change of offset that some zone of the tz database makes in 2026, one expression, and
one direction. Asked for are all occurrences from two days before the change to two days after it;
right is what the wall clock says, minute by minute. The tables of docs/explanation/time-zones.md are written by this
script. It uses the tz database of the `tzdata` package, so that everyone gets the same tables.
"""

from __future__ import annotations

import argparse
import signal
import sys
import zoneinfo
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import metadata
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from tests.oracle import occurrences, walk

DOCUMENT = Path(__file__).parent.parent / "docs" / "explanation" / "time-zones.md"
OPENING, CLOSING = "<!-- board -->\n", "<!-- /board -->\n"
YEAR = 2026
AROUND = timedelta(days=2)
PATIENCE = 5  # seconds of computing; an answer takes milliseconds
EXPRESSIONS = (
    "*/15 * * * *",
    "0 * * * *",
    "0 */2 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "30 1 * * *",
    "0 2 * * *",
    "30 2 * * *",
    "30 1 * * SUN",
    "0 2 29 3 *",
)
WELL_KNOWN = (  # of zones that change alike, the one to show
    "Europe/Berlin", "Europe/London", "Europe/Helsinki", "America/New_York", "America/Chicago", "America/Denver",
    "America/Los_Angeles", "America/Halifax", "America/Nuuk", "Australia/Sydney", "Australia/Lord_Howe",
    "Pacific/Auckland", "Pacific/Easter",
)  # fmt: skip


class Change(NamedTuple):
    """An instant at which the wall clocks of some zones jump, and one of these zones."""

    at: int
    before: timedelta
    after: timedelta
    zone: str


class Case(NamedTuple):
    """All occurrences of an expression around a change, in one direction."""

    change: Change
    expression: str
    backwards: bool

    @property
    def start(self) -> int:
        """The first instant that is asked about."""
        return self.change.at - int(AROUND.total_seconds())

    @property
    def end(self) -> int:
        """The first instant after those that are asked about."""
        return self.change.at + int(AROUND.total_seconds())


class Telling(NamedTuple):
    """A case to show, on one day: what happens there to the clocks."""

    zone: str
    expression: str
    day: str
    what: str
    backwards: bool = False


TELLING = (
    Telling("Europe/Berlin", "30 2 * * *", "2026-03-29", "02:00 to 02:59 is skipped"),
    Telling("Europe/Berlin", "30 2 * * *", "2026-10-25", "02:00 to 02:59 comes twice"),
    Telling("America/New_York", "0 2 * * *", "2026-03-08", "02:00 to 02:59 is skipped"),
    Telling("America/New_York", "30 1 * * *", "2026-11-01", "01:00 to 01:59 comes twice"),
    Telling("America/New_York", "0 0 * * *", "2026-03-09", "the day after the skipped hour"),
    Telling("Africa/Cairo", "0 0 * * *", "2026-04-24", "00:00 to 00:59 is skipped"),
    Telling("America/Havana", "30 0 * * *", "2026-03-08", "00:00 to 00:59 is skipped"),
    Telling("Antarctica/Troll", "30 1 * * *", "2026-03-29", "01:00 to 02:59 is skipped"),
    Telling("Australia/Lord_Howe", "0 * * * *", "2026-10-04", "02:00 to 02:29 is skipped"),
    Telling("Australia/Lord_Howe", "30 1 * * *", "2026-04-05", "01:30 to 01:59 comes twice"),
    Telling("Australia/Lord_Howe", "0 */2 * * *", "2026-04-05", "01:30 to 01:59 comes twice"),
    Telling("Pacific/Chatham", "*/15 * * * *", "2026-04-05", "02:45 to 03:44 comes twice"),
    Telling("Pacific/Chatham", "0 */2 * * *", "2026-04-05", "02:45 to 03:44 comes twice", backwards=True),
)


@cache
def changes(year: int = YEAR) -> tuple[Change, ...]:
    """Every distinct change of the year, in order: zones whose clocks jump alike at the same instant count once."""
    zones: dict[tuple[int, timedelta, timedelta], str] = {}
    rank = {name: place for place, name in enumerate(WELL_KNOWN)}
    names = (name for name in available_timezones() if "/" in name)
    for name in sorted(names, key=lambda name: (rank.get(name, len(rank)), name)):
        for change in _changes_of(ZoneInfo(name), year):
            zones.setdefault(change, name)
    return tuple(Change(*change, name) for change, name in sorted(zones.items()))


def _changes_of(rules: ZoneInfo, year: int) -> Iterator[tuple[int, timedelta, timedelta]]:
    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366)]
    for day in days[:-1]:
        before, after = (time.astimezone(rules).utcoffset() for time in (day, day + timedelta(days=1)))
        if before != after:
            minutes = (day + timedelta(minutes=n) for n in range(1, 1441))
            at = next(minute for minute in minutes if minute.astimezone(rules).utcoffset() == after)
            yield int(at.timestamp()), before, after


def cases() -> Iterator[Case]:
    """The whole board."""
    for change in changes():
        for expression in EXPRESSIONS:
            for backwards in (False, True):
                yield Case(change, expression, backwards)


def right(case: Case) -> list[int]:
    """What the wall clock says."""
    found = occurrences(case.expression, _ticks(case.change))
    return found[::-1] if case.backwards else found


@cache
def _ticks(change: Change) -> list:
    case = Case(change, "", backwards=False)
    return walk(change.zone, case.start, case.end)


# How each library is asked: instants in order, from the first after the start, or the last before the end, on.


def kron(case: Case) -> Iterator[float]:
    """By `next_nominal` and `prev_nominal`, which `periods` and `latest` rest on."""
    from kron import parse
    from kron.timing.period import next_nominal, prev_nominal

    schedule = parse(case.expression, dialect="kron", timezone=case.change.zone)
    t = case.end - 1 if case.backwards else case.start - 1
    while (found := prev_nominal(schedule, t) if case.backwards else next_nominal(schedule, t)) is not None:
        yield found
        t = found - 1 if case.backwards else found


def croniter(case: Case) -> Iterator[float]:
    """By `get_next` and `get_prev`, from a time in the zone."""
    import croniter

    walker = croniter.croniter(case.expression, _edge(case))
    while True:
        yield walker.get_prev() if case.backwards else walker.get_next()


def cronsim(case: Case) -> Iterator[float]:
    """By iterating over it, which it does in both directions."""
    from cronsim import CronSim

    return (time.timestamp() for time in CronSim(case.expression, _edge(case), reverse=case.backwards))


def apscheduler(case: Case) -> Iterator[float]:
    """By `get_next_fire_time` of `CronTrigger.from_crontab`, as its scheduler does; it does not look back."""
    from apscheduler.triggers.cron import CronTrigger

    trigger = CronTrigger.from_crontab(case.expression, timezone=ZoneInfo(case.change.zone))
    fired = trigger.get_next_fire_time(None, _edge(case) + timedelta(seconds=1))
    while fired is not None:
        yield fired.timestamp()
        fired = trigger.get_next_fire_time(fired, fired)


def _edge(case: Case) -> datetime:
    """Where the walk begins: just outside of the time that is asked about."""
    return datetime.fromtimestamp(case.end if case.backwards else case.start - 1, ZoneInfo(case.change.zone))


LIBRARIES: dict[str, Callable[[Case], Iterator[float]]] = {
    "Kron": kron,
    "croniter": croniter,
    "cronsim": cronsim,
    "APScheduler": apscheduler,
}


class Endless(BaseException):
    """An answer that did not come; no `Exception`, lest a library catch it."""


@cache
def answer(library: str, case: Case) -> list[int] | str | None:
    """What a library answers: instants, the name of the error that it raised, or None if it cannot be asked."""
    if library == "APScheduler" and case.backwards:
        return None
    inside = takewhile(lambda t: case.start <= t < case.end, LIBRARIES[library](case))
    signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        return [int(t) for t, _ in zip(inside, range(1_000), strict=False)]  # there are 384 quarters of an hour
    except Endless:
        return "no answer"
    except Exception as error:  # whatever it is, it is what the user would see
        return type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _give_up(*_: object) -> None:
    raise Endless


def board() -> str:
    """The tables, in Markdown."""
    peers = ", ".join(f"{name} {metadata.version(name)}" for name in list(LIBRARIES)[1:])
    head = [
        f"Written by `make dst-board` with the tz database {_tz_version()}, {peers}:",
        f"{len(changes())} different changes of the clocks in {YEAR}, {len(EXPRESSIONS)} expressions "
        f"({', '.join(f'`{expression}`' for expression in EXPRESSIONS)}), forwards and backwards.",
        f"What the clocks skip or repeat in that year lies between {_hours()}, in every zone.",
        "",
    ]
    return "\n".join([*head, *_score(), "", *_telling(), "", *_rules(), ""])


def _rules() -> Iterator[str]:
    """The table of the rules for clock changes, and how it was made."""
    from benchmarks.dst_peers import recorded
    from benchmarks.dst_policies import table

    others = ", ".join(f"{name} {entry['version']}" for name, entry in recorded().items())
    yield "The next table counts the cases, forwards only, in which a scheduler does what a rule of `@dst` says. The"
    yield "greatest number of each scheduler is bold: it names the rule that the scheduler follows. Kron follows the"
    yield f"rule that its text names. The answers of {others} were recorded by `benchmarks/dst_peers.py`."
    yield "A scheduler with an older tz database has fewer cases."
    yield ""
    yield from table()


def _hours() -> str:
    """From when to when, around midnight, some zone skips or repeats a time of the day."""
    touched = set()
    for at, before, after, _ in changes():
        low, high = (at + int(offset.total_seconds()) for offset in sorted((before, after)))
        touched |= {wall // 60 % 1440 for wall in range(low, high, 60)}
    evening, morning = min(minute for minute in touched if minute > 720), max(m for m in touched if m < 720)
    return f"{evening // 60:02d}:{evening % 60:02d} and {morning // 60:02d}:{morning % 60:02d}"


def _tz_version() -> str:
    import tzdata

    return tzdata.IANA_VERSION


def _score() -> Iterator[str]:
    yield "| | cases | as the wall clock says | differently at a gap | differently at a fold | no answer |"
    yield "|---|---:|---:|---:|---:|---:|"
    for library in LIBRARIES:
        found = Counter(_verdict(library, case) for case in cases())
        asked = found.total() - found["cannot"]
        yield f"| {library} | {asked} | {found['same']} | {found['gap']} | {found['fold']} | {found['error']} |"


def _verdict(library: str, case: Case) -> str:
    answered = answer(library, case)
    if answered is None:
        return "cannot"
    if isinstance(answered, str):
        return "error"
    if answered == right(case):
        return "same"
    return "gap" if case.change.after > case.change.before else "fold"


def _telling() -> Iterator[str]:
    yield f"| zone and day | expression | the wall clock says | {' | '.join(LIBRARIES)} |"
    yield "|---|---|---|" + "---|" * len(LIBRARIES)
    for zone, expression, day, what, backwards in TELLING:
        change = next(c for c in changes() if c.zone == zone and abs(c.at - _noon(day, zone)) < 36 * 3600)
        case = Case(change, expression, backwards)
        expected = _on(day, case, right(case))
        runs = ", ".join(_text(t, case) for t in expected) if len(expected) < 4 else f"{len(expected)} runs"
        cells = [_cell(answer(library, case), expected, day, case) for library in LIBRARIES]
        asked = f"`{expression}`" + (", asked backwards" if backwards else "")
        yield f"| {zone}, {day}: {what} | {asked} | {runs or 'no run'} | {' | '.join(cells)} |"


def _cell(answered: list[int] | str | None, expected: list[int], day: str, case: Case) -> str:
    if not isinstance(answered, list):
        return answered or "cannot be asked"
    found = _on(day, case, answered)
    if found == expected:
        return "the same"
    if len(expected) < 4:
        return ", ".join(_text(t, case) for t in found) or "no run"
    more = [f"also {_text(t, case)}" for t in found if t not in expected]
    less = [f"not {_text(t, case)}" for t in expected if t not in found]
    return ", ".join(more + less)


def _on(day: str, case: Case, times: list[int]) -> list[int]:
    return [t for t in times if f"{datetime.fromtimestamp(t, ZoneInfo(case.change.zone)):%Y-%m-%d}" == day]


def _text(t: int, case: Case) -> str:
    """A time on the wall; in a fold with its offset, since without it there are two."""
    wall = datetime.fromtimestamp(t, ZoneInfo(case.change.zone)).isoformat(timespec="minutes")
    return wall[11:16] if case.change.after > case.change.before else f"{wall[11:16]} ({wall[16:]})"


def _noon(day: str, zone: str) -> float:
    return datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZoneInfo(zone)).timestamp()


def main() -> int:
    """Write the tables into the document, or see whether they are there."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="change nothing; exit with 1 if the document is stale")
    given = options.parse_args()
    zoneinfo.reset_tzpath(to=())  # the tz database of the package, not that of the machine
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(OPENING)
    _, _, after = rest.partition(CLOSING)
    written = f"{before}{OPENING}{board()}{CLOSING}{after}"
    if given.check:
        print(f"{DOCUMENT.name} is up to date" if written == text else f"{DOCUMENT.name} is stale: run make dst-board")
        return int(written != text)
    DOCUMENT.write_text(written, encoding="utf-8")
    print(f"wrote the board into {DOCUMENT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
