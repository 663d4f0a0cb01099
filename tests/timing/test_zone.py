"""Zones against the files of the tz database, which are read here without `zoneinfo`."""

import copy
import pickle
import re
import struct
import zoneinfo
from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from importlib import resources
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse, periods
from kron.timing import zone as zones
from kron.timing.zone import EARLIEST, LATEST, instant, instant_of, moment, rfc3339, zone, zone_names
from tests.oracle import rules_of

DAY = 86_400
EPOCH = date(1970, 1, 1)
YEARS = range(1850, 2037)
Change = tuple[int, int, int]  # when, from which offset, to which


def new_year(year: int) -> int:
    return (date(year, 1, 1) - EPOCH).days * DAY


def bytes_of(name: str) -> bytes:
    """The TZif file of a zone, where `zoneinfo` finds it."""
    for folder in zoneinfo.TZPATH:
        if (Path(folder) / name).is_file():
            return (Path(folder) / name).read_bytes()
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


def changes_of(file: bytes) -> list[Change]:
    """Every change of offset in YEARS that a TZif file (RFC 9636) states or whose rule it gives."""
    at = 44 + _length(struct.unpack(">6l", file[20:44]), 4)  # past the first block, which has 32 bits for a time
    assert file[:4] == file[at : at + 4] == b"TZif", "a file of version 2 or later has two blocks"
    counts = struct.unpack(">6l", file[at + 20 : at + 44])
    body, (_, _, _, timecnt, typecnt, _) = file[at + 44 :], counts
    times, types = struct.unpack(f">{timecnt}q", body[: 8 * timecnt]), body[8 * timecnt : 9 * timecnt]
    offsets = [offset for offset, _, _ in struct.iter_unpack(">lBB", body[9 * timecnt : 9 * timecnt + 6 * typecnt])]
    footer = body[_length(counts, 8) :].strip().decode()
    stated = [(t, offsets[kind]) for t, kind in zip(times, types, strict=True)]
    last = stated[-1] if stated else (-1 << 60, offsets[0])
    return _without_the_idle([(-1 << 62, offsets[0]), *stated, *_by_rule(footer, last[0])])


def _length(block: tuple[int, ...], size: int) -> int:
    isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt = block
    return timecnt * (size + 1) + typecnt * 6 + charcnt + leapcnt * (size + 4) + isstdcnt + isutcnt


def _without_the_idle(stated: list[tuple[int, int]]) -> list[Change]:
    start, end = new_year(YEARS.start), new_year(YEARS.stop)
    changes = [(t, before, after) for (_, before), (t, after) in pairwise(stated)]
    return [(t, before, after) for t, before, after in changes if before != after and start <= t < end]


def _by_rule(footer: str, after: int) -> list[tuple[int, int]]:
    """The changes that a POSIX TZ text such as CET-1CEST,M3.5.0,M10.5.0/3 makes, year by year."""
    name = r"(?:<[^>]+>|[A-Za-z]+)"
    rule = re.fullmatch(rf"{name}([-+:\d]+)(?:{name}([-+:\d]*),([^,]+),([^,]+))?", footer)
    assert rule, footer
    if rule[3] is None:
        return []
    standard = -_seconds(rule[1])
    summer = -_seconds(rule[2]) if rule[2] else standard + 3600
    found = []
    for year in YEARS:
        found.append((_instant(rule[3], year) - standard, summer))
        found.append((_instant(rule[4], year) - summer, standard))
    return sorted(change for change in found if change[0] > after)


def _seconds(text: str) -> int:
    sign, hours, minutes, seconds = re.fullmatch(r"([-+]?)(\d+)(?::(\d+))?(?::(\d+))?", text).groups("0")
    return (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * (-1 if sign == "-" else 1)


def _instant(rule: str, year: int) -> int:
    """M3.5.0/2 is the last Sunday of March at 02:00 on the wall, as if that wall were in UTC."""
    day, _, time = rule.partition("/")
    month, week, weekday = (int(number) for number in re.fullmatch(r"M(\d+)\.(\d)\.(\d)", day).groups())
    first_weekday, length = monthrange(year, month)
    first = 1 + (weekday - 1 - first_weekday) % 7
    of_month = max(d for d in range(first, length + 1, 7) if d <= first + 7 * (week - 1))
    return (date(year, month, of_month) - EPOCH).days * DAY + (_seconds(time) if time else 7200)


def alike() -> Iterator[tuple[bytes, list[str]]]:
    """The files of the tz database, each with all the names that it has."""
    names = defaultdict(list)
    for name in sorted(zone_names()):
        names[bytes_of(name)].append(name)
    return iter(names.items())


FILES = list(alike())
AREAS = sorted({names[0].partition("/")[0] for _, names in FILES})


@pytest.mark.req("KSPEC-TIME-TZ")
@pytest.mark.parametrize(
    ("first", "last"), [(2010, 2037), pytest.param(1850, 2010, marks=pytest.mark.slow)], ids=["recent", "historic"]
)
@pytest.mark.parametrize("area", AREAS)
def test_the_changes_of_every_zone_are_those_of_the_tz_database(area, first, last):
    start, end = new_year(first), new_year(last)
    for file, names in FILES:
        if names[0].partition("/")[0] == area:
            found = [tuple(shift) for shift in zone(names[0]).shifts(start, end)]
            assert found == [change for change in changes_of(file) if start <= change[0] < end], names


def test_no_rule_changes_the_clocks_twice_within_the_week_that_the_scan_steps_by():
    for _, names in FILES:
        found = zone(names[0])
        if found.changes.repeats:
            last = found.changes.listed[-1]
            years = [each.at for each in found.shifts(last, last + 5 * 366 * DAY)]
            assert min(later - earlier for earlier, later in pairwise(years)) > 7 * DAY, names


@settings(deadline=None)
@given(st.sampled_from(sorted(zone_names())), st.integers(EARLIEST // DAY, LATEST // DAY), st.integers(0, DAY - 1))
def test_wall_clock_of_any_year_is_that_of_the_standard_library(name, day, second):
    """In every century: before the first change, between listed changes, and after the rule has repeated."""
    t = day * DAY + second
    rules = rules_of(name)
    offset = datetime.fromtimestamp(t, UTC).astimezone(rules).utcoffset()
    assert zone(name).wall(t).offset == offset.total_seconds()


@pytest.mark.parametrize("name", ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"])
def test_changes_of_far_years_are_those_of_the_standard_library(name):
    """Day by day, the slow way."""
    found, rules = fresh(name), rules_of(name)
    for year in (400, 1700, 2499, 2801, 5000, 9600):
        start = new_year(year)
        days = [offset_of(rules, start + n * DAY) for n in range(800)]
        slow = [n for n in range(799) if days[n] != days[n + 1]]
        assert [(shift.at - start) // DAY for shift in found.shifts(start, start + 799 * DAY)] == slow, year


def test_a_text_that_began_long_ago_and_ends_by_count_is_answered_soon():
    text = "45 2 * * * @tz(Asia/Beirut) @dst(gap=shift,fold=last) @valid(from=0400-01-01T00:00,times=1000000)"
    began, schedule = process_time(), parse(text, dialect="plus")
    _forget_stretches(schedule.zone)
    next(iter(periods(schedule, after=moment(new_year(2026)))))
    assert process_time() - began < 1
    assert len(schedule.zone.stretches) < 5_000


def fresh(name):
    """A zone whose spells are not known yet."""
    found = zone(name)
    _forget_stretches(found)
    return found


def _forget_stretches(found):
    found.stretches.clear()


def offset_of(rules, t):
    return datetime.fromtimestamp(t, rules).utcoffset()


def test_the_names_of_one_file_show_the_same_wall_clock():
    noon = instant_of("2026-07-01T12:00:00Z")
    for _, names in FILES:
        assert len({zone(name).wall(noon) for name in names}) == 1, names


def shifts(name: str, day: str) -> list[str]:
    """What happens to the wall clock on a day: the last time shown before, and the first one after."""
    start = instant_of(f"{day}T00:00:00Z") - DAY
    return [
        f"{zone(name).wall(at - 1).text} -> {zone(name).wall(at).text}"
        for at, _, _ in zone(name).shifts(start, start + 3 * DAY)
    ]


@pytest.mark.req("KSPEC-TIME-TZ")
@pytest.mark.parametrize(
    ("name", "day", "change"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-29 01:59:59 +01:00 -> 2026-03-29 03:00:00 +02:00"),
        ("Europe/Berlin", "2026-10-25", "2026-10-25 02:59:59 +02:00 -> 2026-10-25 02:00:00 +01:00"),
        ("America/New_York", "2026-03-08", "2026-03-08 01:59:59 -05:00 -> 2026-03-08 03:00:00 -04:00"),
        ("America/New_York", "2026-11-01", "2026-11-01 01:59:59 -04:00 -> 2026-11-01 01:00:00 -05:00"),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-05 01:59:59 +11:00 -> 2026-04-05 01:30:00 +10:30"),
        ("Africa/Cairo", "2026-04-24", "2026-04-23 23:59:59 +02:00 -> 2026-04-24 01:00:00 +03:00"),
        ("Asia/Beirut", "2026-03-29", "2026-03-28 23:59:59 +02:00 -> 2026-03-29 01:00:00 +03:00"),
        ("America/Havana", "2026-03-08", "2026-03-07 23:59:59 -05:00 -> 2026-03-08 01:00:00 -04:00"),
        ("Pacific/Apia", "2011-12-30", "2011-12-29 23:59:59 -10:00 -> 2011-12-31 00:00:00 +14:00"),
        ("Africa/Monrovia", "1972-01-07", "1972-01-06 23:59:59 -00:44:30 -> 1972-01-07 00:44:30 +00:00"),
    ],
)
def test_a_famous_change(name, day, change):
    assert shifts(name, day) == [change]


@pytest.mark.parametrize("name", ["UTC", "Asia/Tokyo", "Asia/Kathmandu", "Etc/GMT+5"])
def test_a_zone_without_changes_has_none(name):
    assert list(zone(name).shifts(new_year(2026), new_year(2036))) == []


@pytest.mark.parametrize(
    "name",
    [
        "localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin", "../x", "/etc/passwd", "",
        "Ｅurope/Berlin", "Europe/Bеrlin", "Europe/Berlin\n", " UTC", "Europe", "Europe/", "Mars/Base",
        "A" * 100, "UTC\0",
    ],
)  # fmt: skip
def test_what_is_no_zone_of_the_tz_database_is_refused(name):
    with pytest.raises(LookupError):
        zone(name)


def test_every_listed_name_is_a_zone():
    assert {name for name in zone_names() if zone(name).name != name} == set()
    assert len(zone_names()) > 400


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin"])
def test_a_name_has_one_zone_even_after_pickling_and_copying(name):
    one = zone(name)
    assert zone(name) is one
    assert pickle.loads(pickle.dumps(one)) is one
    assert copy.copy(one) is one
    assert copy.deepcopy(one) is one


@pytest.mark.req("KSPEC-TIME-UTC")
def test_a_moment_without_a_zone_is_no_instant():
    with pytest.raises(ValueError, match="has no zone"):
        instant(datetime(2026, 3, 1))  # noqa: DTZ001


@pytest.mark.req("KSPEC-TIME-UTC")
def test_a_moment_is_the_same_instant_in_every_zone():
    utc = datetime(2026, 3, 1, 12, tzinfo=UTC)
    there = [utc, utc.astimezone(zoneinfo.ZoneInfo("Asia/Tokyo")), utc.astimezone(timezone(timedelta(hours=-7)))]
    assert {instant(time) for time in there} == {instant_of("2026-03-01T13:00:00+01:00")}


def test_an_instant_is_the_second_a_moment_lies_in_also_before_1970():
    for second in (-1, 0, 1):
        assert instant(moment(second) + timedelta(microseconds=999_999)) == second


def test_the_second_time_of_a_fold_is_another_instant():
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    first, second = (datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=berlin) for fold in (0, 1))
    assert [rfc3339(instant(time)) for time in (first, second)] == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]


def test_beyond_the_years_with_a_date_a_zone_stays_as_it_is():
    berlin = zone("Europe/Berlin")
    for t in (zones.EARLIEST - 10 * DAY, zones.LATEST + 10 * DAY):
        assert berlin.spell(t)[0] <= t < berlin.spell(t)[1]


@pytest.mark.parametrize("text", ["2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00", "2016-12-31t23:59:60.5z"])
def test_a_leap_second_is_refused_with_the_seconds_to_write(text):
    with pytest.raises(ValueError, match=f"^{re.escape(repr(text))} is a leap second, .*: write second 59 or the next"):
        zones.instant_of(text)


@pytest.mark.parametrize(
    "text", ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+99:00"]
)
def test_an_instant_that_does_not_exist_is_refused_in_words_of_kron(text):
    with pytest.raises(ValueError, match="has a date, a time or an offset that does not exist"):
        zones.instant_of(text)
