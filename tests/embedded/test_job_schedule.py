"""Schedules of jobs that are not a text: an interval, moments, and a rule for clock changes."""

# ruff: noqa: DTZ001  a datetime without a zone is what is tested

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kron import KronError, Scheduler
from kron.language.canonical import canonical
from kron.language.source import shown_source
from kron.stores.job_codec import write_job


def declared(**options):
    scheduler = Scheduler("memory:")
    scheduler.add(print, **options)
    return scheduler.declared["print"].job


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"every": "10s"}, "every 10s from 1970-01-01T00:00Z"),
        ({"every": "1h 30m"}, "every 1h30m from 1970-01-01T00:00Z"),
        ({"every": timedelta(minutes=5)}, "every 5m from 1970-01-01T00:00Z"),
        ({"at": datetime(2026, 12, 1, 9, tzinfo=UTC)}, "at 2026-12-01T09:00Z"),
        ({"at": datetime(2026, 12, 1, 9, tzinfo=timezone(timedelta(hours=1)))}, "at 2026-12-01T08:00Z"),
        (
            {"at": datetime(2026, 12, 1, 9, 0, 30), "timezone": "Europe/Paris"},
            "at 2026-12-01T09:00:30 @tz(Europe/Paris)",
        ),
        ({"at": datetime(2026, 12, 1, 9, 0, 0, 1, tzinfo=UTC)}, "at 2026-12-01T09:00:01Z"),
        ({"at": datetime(2026, 12, 31, 23, 59, 59, 999_999)}, "at 2027-01-01T00:00"),
        (
            {"at": datetime(2026, 12, 1, 9, 0, 0, 1, tzinfo=timezone(timedelta(hours=1)))},
            "at 2026-12-01T08:00:01Z",
        ),
        ({"at": [datetime(2027, 1, 1), datetime(2026, 12, 1)]}, "at 2026-12-01T00:00,2027-01-01T00:00"),
        (
            {"schedule": "30 2 * * *", "dialect": "kron", "timezone": "Europe/Paris", "dst": "once"},
            "30 2 * * * @tz(Europe/Paris) @dst(once)",
        ),
        ({"at": datetime(2036, 12, 1), "dst": "once"}, "at 2036-12-01T00:00"),
        ({"at": datetime(2036, 12, 1), "dst": "fold=last"}, "at 2036-12-01T00:00 @dst(fold=last)"),
        ({"at": datetime(2036, 12, 1), "dst": "wall"}, "at 2036-12-01T00:00 @dst(wall)"),
        ({"schedule": "plus: 0 9 * * TUE#2"}, "0 9 * * TUE#2"),
        ({"schedule": "0 9 L * *", "dialect": "plus"}, "0 9 L * *"),
        ({"schedule": "30 2 * * *", "dialect": "kron", "dst": "wall"}, "30 2 * * *"),
    ],
)
def test_every_at_and_dst_stand_for_a_text(options, text):
    job = declared(**options)
    assert canonical(job.schedule).text == text
    assert shown_source(job).text
    assert write_job(job).schedule == text  # every store keeps it


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "BAD_SCHEDULE"),
        ({"schedule": 5}, "BAD_SCHEDULE"),
        ({"schedule": "daily", "every": "10s"}, "TWO_SCHEDULES"),
        ({"every": "10s", "at": datetime(2026, 12, 1)}, "TWO_SCHEDULES"),
        ({"every": 10}, "BAD_OPTION"),
        ({"every": "10"}, "BAD_DURATION"),
        ({"every": "1d"}, "BAD_DURATION"),
        ({"every": timedelta(seconds=-1)}, "BAD_DURATION"),
        ({"every": timedelta(milliseconds=1)}, "BAD_DURATION"),
        ({"at": "2026-12-01"}, "BAD_OPTION"),
        ({"at": []}, "BAD_OPTION"),
        ({"at": datetime(2026, 3, 29, 2, 30), "timezone": "Europe/Paris"}, "NO_SUCH_TIME"),
        ({"at": datetime(2026, 10, 25, 2, 30), "timezone": "Europe/Paris"}, "TWICE"),
        ({"every": "10s", "dst": "once"}, "MISPLACED_MODIFIER"),
        ({"schedule": "30 2 * * *", "dialect": "kron", "dst": "twice"}, "BAD_PARAMETER"),
        ({"schedule": "30 2 * * *", "dialect": "kron", "dst": True}, "BAD_OPTION"),
        ({"schedule": "30 2 * * * @dst(once)", "dialect": "plus", "dst": "wall"}, "TWO_RULES"),
    ],
)
def test_refusals_say_what_to_write(options, code):
    with pytest.raises(KronError) as refused:
        declared(**options)
    assert refused.value.code == code
    assert refused.value.hint


def test_interval_is_the_same_in_every_process():
    assert declared(every="7s").schedule == declared(every="7s").schedule
