"""Imported lines in the nights in which the clocks of Berlin change, next to Debian's own cron.

In spring, 02:00 to 03:00 does not exist. In autumn, it occurs twice. `*` marks summer time.
"""

import pytest

from kron.timing.period import nominals
from tests.campaigns.debian_cron.build import cached
from tests.campaigns.debian_cron.nights import BERLIN, FIELDS, NIGHTS, night_runs, shown
from tests.campaigns.krond_import import imported
from tests.language.test_crontab_import import ONE_PERIOD

EVERY_QUARTER = [f"{hour:02}:{minute:02}" for hour in range(5) for minute in (0, 15, 30, 45)]
GAP = {  # what Kron runs from 00:30 on the day of the gap until before 04:30
    "0 2 * * *": "03:00*",
    "30 2 * * *": "03:00*",
    "0 3 * * *": "03:00*",
    "30 1-3 * * *": "01:30 03:00* 03:30*",
    "0,30 2 * * *": "03:00*",
    "0 2,3 * * *": "03:00*",
    "0 0-23 * * *": "01:00 03:00* 04:00*",
    "0 * * * *": "01:00 03:00* 04:00*",
    "@hourly": "01:00 03:00* 04:00*",
    "*/15 * * * *": " ".join([*EVERY_QUARTER[2:8], *(f"{each}*" for each in EVERY_QUARTER[12:18])]),
    "*/15 2 * * *": "",
}
FOLD = {
    "0 2 * * *": "02:00*",
    "30 2 * * *": "02:30*",
    "0 3 * * *": "03:00",
    "30 1-3 * * *": "01:30* 02:30* 03:30",
    "0,30 2 * * *": "02:00* 02:30*",
    "0 2,3 * * *": "02:00* 03:00",
    "0 0-23 * * *": "01:00* 02:00* 03:00 04:00",
    "0 * * * *": "01:00* 02:00* 02:00 03:00 04:00",
    "@hourly": "01:00* 02:00* 02:00 03:00 04:00",
    "*/15 * * * *": " ".join([*(f"{each}*" for each in EVERY_QUARTER[2:12]), *EVERY_QUARTER[8:18]]),
    "*/15 2 * * *": " ".join([*(f"{each}*" for each in EVERY_QUARTER[8:12]), *EVERY_QUARTER[8:12]]),
}
SEVERAL = {
    "0,30 2 * * *": "03:00* 03:00*",
    "0 2,3 * * *": "03:00* 03:00*",
    "0 0-23 * * *": "01:00 03:00* 03:00* 04:00*",
}


@pytest.fixture(scope="module")
def lines():
    """The imported lines of Berlin, by their fields."""
    return {line.fields: line for line in imported() if line.schedule.zone.name == BERLIN}


def test_imported_lines_run_as_cron_does_when_the_clocks_change(lines):
    for night, expected in zip(NIGHTS, (GAP, FOLD), strict=True):
        found = {each: nominals(lines[each].schedule, night.start - 1, night.end - 1) for each in FIELDS}
        assert {each: shown(times) for each, times in found.items()} == expected, night.name


def test_notes_name_the_lines_that_differ(lines):
    assert {each for each in FIELDS if any(ONE_PERIOD in note for note in lines[each].notes)} == SEVERAL.keys()


@pytest.mark.skipif(cached() is None, reason="needs Debian's cron in the cache: run `make debian-cron`")
def test_debian_cron_itself_runs_the_lines_at_these_times(lines):
    schedules = {each: lines[each].schedule for each in FIELDS}
    found = {(each.night, each.fields): shown(each.of_cron) for each in night_runs(cached(), schedules)}
    assert found == {("gap", each): times for each, times in (GAP | SEVERAL).items()} | {
        ("fold", each): times for each, times in FOLD.items()
    }
