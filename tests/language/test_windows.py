"""@tz and @win, clause by clause of the syntax document."""

import pytest

from kron.language import parse
from kron.timing.period import Period
from kron.timing.schedule.window import SECOND, Mode, Window
from kron.timing.zone import UTC_ZONE
from tests.language.asking import kron, modified, refusal

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.mark.req("KSYN-TZ-IANA", "KSYN-VAL-TZ")
def test_a_zone_is_a_name_of_the_tz_database():
    assert modified("@tz(Europe/Paris)").zone.name == "Europe/Paris"
    assert modified("@tz(America/Argentina/Buenos_Aires)").zone.name == "America/Argentina/Buenos_Aires"
    for name in ("Mars/Base", "europe/paris", "Europe", "+02:00", "../UTC", "/etc/localtime", "CEST", "A" * 60_000):
        assert refusal(f"0 0 * * * @tz({name})") == ("UNKNOWN_ZONE", name)


@pytest.mark.req("KSYN-TZ-DEFAULT")
def test_the_zone_is_utc_unless_said_otherwise():
    assert kron("0 0 * * *").zone is UTC_ZONE
    assert parse("0 0 * * *", dialect="kron", timezone="Asia/Tokyo").zone.name == "Asia/Tokyo"
    assert parse("0 0 * * * @tz(UTC)", dialect="kron", timezone="Asia/Tokyo").zone is UTC_ZONE


@pytest.mark.req("KSYN-TZ-EX")
def test_ten_in_paris_is_nine_in_winter_utc():
    paris, angeles = kron("0 10 * * * @tz(Europe/Paris)"), kron("0 18 * * * @tz(America/Los_Angeles)")
    assert Period(paris.zone.first_after(paris.cron.after, 1_767_225_600)).id == "2026-01-01T09:00:00Z"
    assert Period(angeles.zone.first_after(angeles.cron.after, 1_767_225_600)).id == "2026-01-01T02:00:00Z"


@pytest.mark.req("KSYN-WIN-MODES")
def test_a_window_is_after_or_around():
    assert modified("@win(after,1h)").window == Window(Mode.AFTER, HOUR)
    assert modified("@win(around,1h)").window == Window(Mode.AROUND, HOUR)
    for mode in ("before", "After", "afterwards", "centre"):
        assert refusal(f"0 0 * * * @win({mode},1h)") == ("UNKNOWN_MODE", mode)
    assert refusal("0 0 * * * @win(1h)") == ("UNKNOWN_MODE", "1h")
    assert refusal("0 0 * * * @win(after)") == ("BAD_WINDOW", "after")
    assert refusal("0 0 * * * @win(after,1h,2h)") == ("BAD_WINDOW", "after,1h,2h")


@pytest.mark.req("KSYN-WIN-DURATION")
@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1ns", 1),
        ("1us", 1_000),
        ("1ms", 1_000_000),
        ("1s", SECOND),
        ("1m", MINUTE),
        ("1h", HOUR),
        ("1h30m", 5_400 * SECOND),
        ("1h1m1s1ms1us1ns", 3_661_001_001_001),
        ("0", 0),
    ],
)
def test_a_duration_is_written_as_in_go(text, nanoseconds):
    assert modified(f"@win(after,{text})").window.duration == nanoseconds


@pytest.mark.req("KSYN-WIN-DURATION")
def test_days_are_no_unit_and_a_unit_there_must_be():
    assert refusal("0 0 * * * @win(after,1d)") == ("BAD_DURATION", "d")
    assert refusal("0 0 * * * @win(after,90)") == ("BAD_DURATION", "90")


@pytest.mark.req("KSYN-WIN-DEFAULT")
def test_without_a_window_the_run_is_at_the_nominal_time():
    assert kron("0 0 * * *").window == Window(Mode.AFTER, 0)
    assert kron("0 0 * * *").window.at(60) == (60 * SECOND, 60 * SECOND)
    assert modified("@win(after,0s)") == kron("0 0 * * *")


@pytest.mark.req("KSYN-WIN-EX")
def test_the_examples_of_windows():
    assert kron("0 0 * * * @win(after,2h)").window.at(0) == (0, 2 * HOUR)
    half = 22 * MINUTE + 30 * SECOND
    assert kron("0 10 * * * @win(around,45m)").window.at(0) == (-half, half)


@pytest.mark.req("KSYN-VAL-WIN")
def test_a_window_is_not_negative():
    assert refusal("0 0 * * * @win(after,-1s)") == ("NEGATIVE_DURATION", "-1s")
    assert refusal("0 0 * * * @win(around,-1ns)") == ("NEGATIVE_DURATION", "-1ns")
    assert modified("@win(after,-0s)").window.duration == 0


@pytest.mark.req("KSYN-VAL-HALF")
@pytest.mark.parametrize(
    ("text", "half"), [("1s", 500_000_000), ("3ns", 1), ("1ns", 0), ("1us", 500), ("45m", 1350 * SECOND)]
)
def test_half_of_a_duration_is_exact_to_the_nanosecond(text, half):
    assert modified(f"@win(around,{text})").window.at(0) == (-half, half)
