"""The vixie reader against Debian's own cron, around clock changes. The whole year is `make debian-cron`.

The tests that run cron need its binary, which `make debian-cron` builds and keeps in the cache of the user.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kron.errors import LanguageError
from tests.campaigns.debian_cron.build import cached, source_entries
from tests.campaigns.debian_cron.comparison import Gap, difference, differences, gaps, periods
from tests.campaigns.debian_cron.daemon import Rejected, runs
from tests.campaigns.debian_cron.lines import EDGES, REAL

DAY, HOUR = 86_400, 3_600
BINARY = cached() or Path("cron")
needs_cron = pytest.mark.skipif(cached() is None, reason="needs Debian's cron in the cache: run `make debian-cron`")


def instant(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


GAP = instant("2026-03-29T01:00")  # of Europe/Berlin: 02:00 to 03:00
FOLD = instant("2026-10-25T01:00")
CHANGES = [
    ("Europe/Berlin", GAP),
    ("Europe/Berlin", FOLD),
    ("America/New_York", instant("2026-03-08T07:00")),
    ("America/New_York", instant("2026-11-01T06:00")),
    ("Australia/Lord_Howe", instant("2026-10-03T15:30")),
    ("Australia/Lord_Howe", instant("2026-04-04T15:00")),
]


def unknown(lines, timezone, start, end):
    results = differences(lines, runs(BINARY, lines, timezone, start, end), timezone, start, end)
    return [str(each) for each in results if not each.is_known]


# With Debian's cron


@needs_cron
@pytest.mark.parametrize(("timezone", "change"), CHANGES)
def test_real_crontabs_run_when_cron_runs_them(timezone, change):
    assert unknown(REAL, timezone, change - DAY // 2, change + DAY // 2) == []


@needs_cron
@pytest.mark.parametrize("change", [GAP, FOLD])
def test_a_line_alone_runs_when_cron_runs_it(change):
    assert [text for line in EDGES for text in unknown([line], "Europe/Berlin", change - DAY, change + DAY)] == []


@needs_cron
def test_cron_runs_each_listed_time_of_a_gap_and_kron_one():
    (times,) = runs(BINARY, ["0,30 2 * * *"], "Europe/Berlin", GAP - HOUR, GAP + HOUR)
    assert times == [GAP, GAP]
    assert periods("0,30 2 * * *", "Europe/Berlin", GAP - HOUR, GAP + HOUR) == [GAP]


@needs_cron
def test_cron_runs_no_listed_time_of_a_gap_of_three_hours():
    change = instant("2009-10-17T18:00")  # 02:00 to 05:00
    assert runs(BINARY, ["30 2 * * *"], "Antarctica/Casey", change - HOUR, change + HOUR) == [[]]
    assert periods("30 2 * * *", "Antarctica/Casey", change - HOUR, change + HOUR) == [change]


@needs_cron
@pytest.mark.parametrize(
    "line",
    ["5/15 * * * *", "0 0 * * 8", "0 24 * * *", "0 0 0 * *", "*/0 * * * *", "1,,2 * * * *", "0 0 L * *", "@Daily"],
)
def test_what_cron_rejects_is_refused(line):
    with pytest.raises(Rejected):
        runs(BINARY, [line], "UTC", GAP, GAP + DAY)
    with pytest.raises(LanguageError):
        periods(line, "UTC", GAP, GAP + DAY)


@needs_cron
@pytest.mark.parametrize(
    ("line", "read_as"),
    [
        ("0~30 * * * *", "0 * * * *"),
        ("0 0 * * 5#2", "0 0 * * 5"),
        ("*5 * * * *", "* * * * *"),
        ("*,5 2 * * *", "* 2 * * *"),
    ],
)
def test_what_cron_reads_in_part_is_refused(line, read_as):
    week = (GAP, GAP + 7 * DAY)
    assert runs(BINARY, [line], "UTC", *week) == [periods(read_as, "UTC", *week)]
    with pytest.raises(LanguageError):
        periods(line, "UTC", *week)


@needs_cron
@pytest.mark.parametrize("line", ["0 0 * * FRI-SUN", "30-10 * * * *", "0 0 30 2 *"])
def test_what_cron_accepts_and_never_runs_is_refused(line):
    assert runs(BINARY, [line], "UTC", GAP, GAP + 7 * DAY) == [[]]
    with pytest.raises(LanguageError):
        periods(line, "UTC", GAP, GAP + 7 * DAY)


# The comparison

SKIPPED = [Gap(GAP, GAP + HOUR, GAP + 2 * HOUR)]


def compared(line, of_cron, of_kron=(GAP,)):
    return difference(line, "Europe/Berlin", of_kron, of_cron, SKIPPED)


def test_gaps_of_a_year_are_found():
    assert gaps("Europe/Berlin", instant("2026-01-01T00:00"), instant("2027-01-01T00:00")) == tuple(SKIPPED)
    (half_hour,) = gaps("Australia/Lord_Howe", instant("2026-06-01T00:00"), instant("2027-01-01T00:00"))
    assert (half_hour.at, half_hour.end - half_hour.first) == (CHANGES[4][1], 1_800)
    assert gaps("UTC", instant("2026-01-01T00:00"), instant("2026-02-01T00:00")) == ()


def test_a_further_run_for_a_listed_time_in_a_gap_is_known():
    assert compared("0,30 2 * * *", [GAP, GAP]).is_known
    assert compared("30 2-3 * * *", [GAP, GAP + 1_800], [GAP, GAP + 1_800]).surplus == ()
    assert compared("0 2,3 * * *", [GAP, GAP]).is_known


@pytest.mark.parametrize(
    ("line", "of_cron"),
    [
        ("30 2 * * *", [GAP, GAP]),  # one listed time, two runs
        ("0,30 2 * * *", [GAP, GAP, GAP]),  # two listed times, three runs
        ("0,30 2 * * *", [GAP, GAP + 600]),  # later than cron needs
        ("0,30 2 * * *", [GAP - 60, GAP]),
        ("0,20,40 2 * * *", [GAP, GAP]),  # three listed times, two runs
        ("0 3 * * *", [GAP, GAP]),  # no listed time in the gap
        ("*/30 2 * * *", [GAP, GAP]),  # follows the clock on the wall
    ],
)
def test_any_other_surplus_is_a_difference(line, of_cron):
    assert not compared(line, of_cron).is_known


def test_a_missing_run_is_a_difference():
    missing = compared("0,30 2 * * *", [])
    assert (missing.missing, missing.surplus, missing.is_known) == ((GAP,), (), False)
    assert str(missing) == "'0,30 2 * * *' in Europe/Berlin: only Kron: 2026-03-29T01:00Z; only cron: -"


def test_source_packages_come_from_the_places_of_the_machine():
    lines = "deb [signed-by=/key] http://host.example/debian stable main\n# deb http://host.example/old stable main\n"
    assert source_entries(lines) == lines.replace("deb [", "deb-src [")
    paragraphs = "Types: deb\nURIs: http://host.example/debian\nSuites: stable\n"
    assert source_entries(paragraphs) == paragraphs.replace("Types: deb", "Types: deb-src")
