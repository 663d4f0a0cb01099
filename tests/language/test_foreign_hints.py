"""Hints for texts of other schedulers: the text to write means what the refused text means in its own system."""

import pytest

from kron.errors import LanguageError
from kron.language import parse

SYSTEMD = [
    ("Mon *-*-1..7 10:00", "0 10 1-7 * MON @days(match=both)", "plus"),
    ("Fri *-*-13", "0 0 13 * FRI @days(match=both)", "plus"),
    ("Sat..Sun *-*-* 09:00", "0 9 * * SUN,SAT", "kron"),
    ("Mon..Sun *-*-13 09:00", "0 9 13 * *", "kron"),
    ("*-*-* *:5/15", "5-59/15 * * * *", "kron"),
    ("*-1/3-01 00:00:30", "30 0 0 1 1-12/3 *", "service"),
    ("OnCalendar=Mon *-*-* 09:00", "0 9 * * MON", "kron"),
    ("OnCalendar=Mon", "0 0 * * MON", "kron"),
    ("OnCalendar=minutely", "* * * * *", "kron"),
    ("OnCalendar=hourly", "0 * * * *", "kron"),
    ("OnCalendar=daily", "0 0 * * *", "kron"),
    ("OnCalendar=weekly", "0 0 * * MON", "kron"),
    ("OnCalendar=monthly", "0 0 1 * *", "kron"),
    ("OnCalendar=quarterly", "0 0 1 1,4,7,10 *", "kron"),
    ("OnCalendar=semiannually", "0 0 1 1,7 *", "kron"),
    ("OnCalendar=yearly", "0 0 1 1 *", "kron"),
    ("OnCalendar=daily Europe/Paris", "0 0 * * * @tz(Europe/Paris)", "kron"),
    ("OnCalendar=*-*-* 02:30 Europe/Paris", "30 2 * * * @dst(fold=first) @tz(Europe/Paris)", "plus"),
]
FIELDS = [
    ("0 12 * * ? *", "cron(0 12 * * ? *)", "aws"),
    ("0 12 ? * 2-6 2027", "cron(0 12 ? * 2-6 2027)", "aws"),
    ("0 9 ? * MON", "0 9 * * MON", "kron"),
    ("0 9 ? * MON#1", "0 9 * * MON#1", "plus"),
    ("* * * * * * *", "* * * * * *", "service"),
    ("plus:0 9 L * *", "0 9 L * *", "plus"),
    ("vixie:0 0 */2 * MON", "0 0 */2 * MON", "vixie"),
    ("0 0 */2 * MON /usr/bin/backup", "0 0 */2 * MON @days(match=both)", "plus"),
    ("17 * * * * root cd / && run-parts", "17 * * * *", "kron"),
    ("crontab(minute=0, hour='*/3')", "0 */3 * * *", "kron"),
    ("crontab(0, 0, day_of_month='1,15', day_of_week='mon')", None, ""),
    ("crontab(minute=0, hour=0, day_of_month='1-7', day_of_week=1)", "0 0 1-7 * 1 @days(match=both)", "plus"),
]
INTERVALS = [
    ("rate(5 minutes)", "*/5 * * * *", "kron"),
    ("rate(45 minutes)", "every 45m from 1970-01-01T00:00Z", "plus"),
    ("@every 45m", "every 45m from 1970-01-01T00:00Z", "plus"),
    ("rate(1 hour)", "0 * * * *", "kron"),
    ("rate(6 hours)", "0 */6 * * *", "kron"),
    ("rate(5 hours)", "every 5h from 1970-01-01T00:00Z", "plus"),
    ("rate(1 day)", "0 0 * * *", "kron"),
    ("rate(7 days)", "0 0 * * * @days(every=7d,from=2026-01-05)", "plus"),
    ("@every 1h30m", "every 1h30m from 1970-01-01T00:00Z", "plus"),
    ("every 90m", "every 1h30m from 1970-01-01T00:00Z", "plus"),
    ("every second", "* * * * * *", "service"),
    ("every 7 seconds", "every 7s from 1970-01-01T00:00Z", "plus"),
    ("PT15M", "*/15 * * * *", "kron"),
    ("P2W", "0 0 * * * @days(every=14d,from=2026-01-05)", "plus"),
]
PHRASES = [
    ("every hour", "0 * * * *", "kron"),
    ("every day", "0 0 * * *", "kron"),
    ("every monday", "0 0 * * MON", "kron"),
    ("every day at noon", "0 12 * * *", "kron"),
    ("daily at midnight", "0 0 * * *", "kron"),
    ("every weekday at 6:30 pm", "30 18 * * MON-FRI", "kron"),
    ("every other day", "0 0 * * * @days(every=2d,from=2026-01-05)", "plus"),
    ("every other tuesday at 9am", "0 9 * * TUE @days(every=2w,from=2026-01-05)", "plus"),
    ("monthly on the 1st at 9am", "0 9 1 * *", "kron"),
    ("last friday of the month at 5pm", "0 17 * * FRIL", "plus"),
    ("last day of the month", "0 0 L * *", "plus"),
    ("2026-12-01 09:00", "at 2026-12-01T09:00", "plus"),
    ("2026-12-01T09:00:00Z", "at 2026-12-01T09:00:00Z", "plus"),
]
ZONES = [
    ("0 9 * * * UTC+2", "0 9 * * * @tz(Etc/GMT-2)", "kron"),
    ("0 9 * * * @tz(GMT-3)", "0 9 * * * @tz(Etc/GMT+3)", "kron"),
    ("0 9 * * * @tz=Europe/Paris", "0 9 * * * @tz(Europe/Paris)", "kron"),
    ("0 9 * * * @timezone(Europe/Paris)", "0 9 * * * @tz(Europe/Paris)", "kron"),
]


def advice(text, **options):
    with pytest.raises(LanguageError) as caught:
        parse(text, **{"dialect": "kron", **options})
    return caught.value.details.get("write")


@pytest.mark.parametrize(("text", "written", "dialect"), [*SYSTEMD, *FIELDS, *INTERVALS, *PHRASES, *ZONES])
def test_text_to_write_means_the_same(text, written, dialect):
    assert advice(text) == (None if written is None else {"text": written, "dialect": dialect})


@pytest.mark.parametrize("text", ["0 9 ? * 2#1", "0 9 * * * PST", "2026-12-01", "0 9 * * * Mars/Base", "P1M"])
def test_no_text_is_named_where_the_meaning_is_unknown(text):
    assert advice(text) is None


def test_a_rate_in_a_zone_with_clock_changes_stays_elapsed_time():
    paris = {"timezone": "Europe/Paris"}
    assert advice("rate(6 hours)", **paris)["text"] == "every 6h from 1970-01-01T00:00Z"
    assert advice("rate(5 minutes)", **paris)["text"] == "*/5 * * * *"


def test_a_crontab_line_keeps_the_clock_rule_of_cron():
    paris = {"timezone": "Europe/Paris"}
    assert advice("30 2 * * * /usr/bin/backup", **paris)["text"] == "30 2 * * * @dst(once)"
    assert advice("30 9 * * * /usr/bin/backup", **paris)["text"] == "30 9 * * *"


def test_a_dialect_that_reads_the_text_in_another_way_is_not_named():
    assert advice("0 0 13 * 5 /usr/bin/backup", dialect="jenkins")["dialect"] == "kron"


def test_a_text_in_the_dialect_that_refused_is_preferred():
    assert advice("rate(2 hours)", dialect="fuzzy", identity="a")["text"] == "every 2 hours"
    assert advice("0 9 * * ? *", dialect="aws") == {"text": "cron(0 9 * * ? *)", "dialect": "aws"}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("UTC+2", "write Etc/GMT-2, or the zone of a city, such as Europe/Paris, whose clocks change"),
        ("PST", "write the zone of a city, such as America/Los_Angeles; an abbreviation names no zone"),
        ("UTC+25", "use a name of the tz database, such as Europe/Paris"),
    ],
)
def test_a_zone_that_is_no_name_has_a_hint(name, hint):
    with pytest.raises(LanguageError) as caught:
        parse("0 9 * * *", dialect="kron", timezone=name)
    assert caught.value.hint == hint


def test_a_sentence_with_an_at_sign_before_every_is_told_to_give_an_interval():
    with pytest.raises(LanguageError) as caught:
        parse("@every 1h30m", dialect="fuzzy", identity="a")
    assert caught.value.hint.split("\n") == [
        "remove the @, and give an interval such as every 2h",
        'write every 1h30m from 1970-01-01T00:00Z; pass dialect="plus"',
    ]
