"""The vixie reader: Debian's rules, against cronsim, which follows Debian's cron.

Known disagreements: several listed times in one DST gap (`0,30 2 * * *`) are one period for Kron, at the end of the
gap; cronsim returns that instant several times. cronsim also accepts L, # and 5/15, which Debian's cron does not have.
test_debian_cron.py compares the reader with Debian's cron itself.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from kron.language import parse
from kron.language.canonical import canonical
from kron.language.crontabs.read import Crontab, read_crontab
from kron.timing.period import count_nominals, nominals
from kron.timing.schedule.days import DayCron
from kron.timing.schedule.dst import AFTER_FIRST, WALL
from kron.timing.zone import UTC_ZONE
from tests.language.asking import refusal

LINES = [
    line
    for line in (Path(__file__).parents[2] / "vectors" / "crontab_lines.txt").read_text(encoding="ascii").splitlines()
    if not line.startswith("#")
]
YEAR = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
SPRING = (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 31, tzinfo=UTC))  # of Europe/Paris
AUTUMN = (datetime(2026, 10, 24, tzinfo=UTC), datetime(2026, 10, 27, tzinfo=UTC))
FREQUENT = 1_000  # runs a year; cronsim needs minutes for the year of all lines that run more often


def vixie(text, timezone="UTC"):
    return parse(text, dialect="vixie", timezone=timezone)


def instants(text, timezone, interval=YEAR):
    start, end = (int(time.timestamp()) for time in interval)
    return list(nominals(vixie(text, timezone), start - 1, end - 1))


def oracle(text, timezone, interval=YEAR):
    """The instants of cronsim. Times that it moves out of a gap onto one instant are one period for Kron."""
    zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    start = (interval[0] - timedelta(seconds=1)).astimezone(zone)
    end, times = int(interval[1].timestamp()), set()
    for time in CronSim(text, start):
        if time.timestamp() >= end:
            return sorted(times)
        times.add(int(time.timestamp()))
    return sorted(times)


def is_frequent(text):
    start, end = (int(time.timestamp()) for time in YEAR)
    return count_nominals(vixie(text), start, end) > FREQUENT


def test_there_are_two_hundred_lines_of_real_crontabs():
    assert len(LINES) == len(set(LINES)) >= 200


def test_real_crontabs_run_when_cronsim_runs_them():
    cases = [(line, YEAR) for line in LINES if not is_frequent(line)]
    cases += [(line, interval) for line in LINES if is_frequent(line) for interval in (SPRING, AUTUMN)]
    zone = "Europe/Paris"
    assert [case for case in cases if instants(case[0], zone, case[1]) != oracle(case[0], zone, case[1])] == []


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("timezone", ["UTC", "Europe/Paris", "America/New_York"])
def test_all_lines_agree_for_the_whole_year(timezone):
    assert [line for line in LINES if instants(line, timezone) != oracle(line, timezone)] == []


def test_a_star_in_one_day_field_makes_both_count():
    assert len(instants("0 0 */2 * MON", "UTC")) == 26
    assert canonical(vixie("0 0 */2 * MON")) == ("0 0 */2 * MON @days(match=both)", "plus")
    assert len(instants("0 0 1-7 * */7", "UTC")) == 12  # the first Sunday of each month


def test_without_a_star_one_day_field_is_enough():
    schedule = vixie("0 0 13 * FRI")
    assert not isinstance(schedule.cron, DayCron)
    assert len(instants("0 0 13 * FRI", "UTC")) == 12 + 52 - 3


def test_a_step_of_one_restricts_nothing():
    assert vixie("0 0 */1 * MON") == vixie("0 0 * * MON") == parse("0 0 * * MON", dialect="kron")


@pytest.mark.parametrize(
    ("macro", "fields"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_a_macro_means_its_fields(macro, fields):
    assert vixie(macro, "Europe/Paris") == vixie(fields, "Europe/Paris")


@pytest.mark.parametrize(
    ("text", "rule"),
    [("30 2 * * *", AFTER_FIRST), ("0,30 1-3 * * *", AFTER_FIRST), ("* 2 * * *", WALL), ("5 */2 * * *", WALL)],
)
def test_the_fields_as_written_select_the_rule_for_clock_changes(text, rule):
    assert vixie(text, "Europe/Paris").terms.dst == rule
    assert vixie(text, "UTC").terms.dst == WALL  # its clocks never change, so no rule is needed


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("@reboot", "MACRO", "@reboot"),
        ("@dayly", "MACRO", "@dayly"),
        ("@Daily", "MACRO", "@Daily"),
        ("0~30 * * * *", "UNSUPPORTED_SYNTAX", "~"),
        ("5/15 * * * *", "STEP_NEEDS_RANGE", "5/15"),
        ("0 0 * * FRI-SUN", "REVERSED_RANGE", "FRI-SUN"),
        ("0 0 30 2 *", "NEVER", "0 0 30 2 *"),
        ("0 0 31 2,4 */2", "NEVER", "0 0 31 2,4 */2"),
        ("0 0 * * 8", "OUT_OF_RANGE", "8"),
        ("0 0 * *", "FIELD_COUNT", ""),
        ("0 0 * * * *", "FIELD_COUNT", "*"),
        ("* * * * * @tz(UTC)", "FIELD_COUNT", "@tz(UTC)"),
    ],
)
def test_other_texts_are_refused(text, code, part):
    assert refusal(text, "vixie") == (code, part)


def test_a_crontab_file_follows_the_same_rules():
    crontab = Crontab("0 0 */2 * MON root job\n@daily job\n5/15 * * * * job\n", "crontab", "alice")
    lines = list(read_crontab(crontab, UTC_ZONE))
    crons = [line.entry.timing.schedule.cron for line in lines if line.entry]
    errors = [line.row.error for line in lines if line.row.error]
    assert crons == [vixie("0 0 */2 * MON").cron, vixie("@daily").cron]
    assert [(error.code, error.place.line, error.span) for error in errors] == [("STEP_NEEDS_RANGE", 3, (0, 4))]
