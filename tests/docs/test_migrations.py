"""The guides for other schedulers: what their examples become in Kron runs at the same times."""

import ast
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import chain, islice

import pytest
from apscheduler.triggers import cron, interval
from apscheduler.triggers import date as single
from apscheduler.triggers.combining import OrTrigger
from croniter import croniter

from kron import Scheduler
from kron.timing.upcoming_runs import upcoming_runs
from tests.docs.page import ROOT, table

FOLDER = ROOT / "docs" / "how-to"
START = datetime(2009, 1, 1, 0, 0, 1, tzinfo=UTC)
COMPARED = 10


def in_utc(kind):
    """A trigger class whose time zone is UTC where none is given, instead of the zone of the machine."""

    class Utc(kind):
        def __init__(self, *args, **fields):
            super().__init__(*args, **{**fields, "timezone": fields.get("timezone") or "UTC"})

    return Utc


BEFORE = {
    "CronTrigger": in_utc(cron.CronTrigger),
    "DateTrigger": in_utc(single.DateTrigger),
    "IntervalTrigger": in_utc(interval.IntervalTrigger),
    "OrTrigger": OrTrigger,
    "date": date,
    "datetime": datetime,
}


def fire_times(trigger):
    """The times at which a trigger of APScheduler fires, as instants."""
    before, now = None, START
    while (following := trigger.get_next_fire_time(before, now)) is not None:
        yield int(following.timestamp())
        before, now = following, following + timedelta(microseconds=1)


def run_times(declaration, start=START):
    """The times of the jobs that a cell of the table declares, in order."""
    s = Scheduler("memory:")
    for node in ast.parse(declaration.replace("`", "")).body[0].value.elts:
        eval(ast.unparse(node), {"s": s, "datetime": datetime})(named(len(s.declared)))
    jobs = [declared.job for declared in s.declared.values()]
    return sorted(chain.from_iterable(times_of(job, start) for job in jobs))


def named(number):
    def function():
        pass

    function.__name__ = f"job-{number}"
    return function


def times_of(job, start):
    runs, _ = upcoming_runs(job.schedule, job.identity, int(start.timestamp()), COMPARED)
    return [run.decision.chosen for run in runs]


TRIGGERS = table(FOLDER / "from-apscheduler.md", "triggers")


@pytest.mark.parametrize(("before", "after"), TRIGGERS, ids=[row[0] for row in TRIGGERS])
def test_job_runs_when_the_trigger_of_apscheduler_fires(before, after):
    expected = list(islice(fire_times(eval(before, dict(BEFORE))), COMPARED))
    assert expected
    assert run_times(f"[{after}]")[:COMPARED] == expected


CRONTABS = table(FOLDER / "from-celery-beat.md", "crontabs")
NEW_YEAR = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)


def crontab_line(minute="*", hour="*", day_of_week="*", day_of_month="*", month_of_year="*"):
    """The arguments of Celery's `crontab` as a cron line."""
    weekday = str(day_of_week).replace("sunday", "sun")
    return f"{minute} {hour} {day_of_month} {month_of_year} {weekday}"


@pytest.mark.parametrize(("before", "after"), [row[:2] for row in CRONTABS], ids=[row[0] for row in CRONTABS])
class TestCrontab:
    def test_job_runs_when_a_cron_line_of_the_same_fields_does(self, before, after):
        times = croniter(eval(before, {"crontab": crontab_line}), NEW_YEAR)
        assert run_times(f"[{after}]", NEW_YEAR) == [int(times.get_next(float)) for _ in range(COMPARED)]

    def test_job_runs_when_beat_finds_the_entry_due(self, before, after):
        schedules = pytest.importorskip("celery.schedules")
        from celery import Celery

        app, clock = Celery(set_as_current=False), [NEW_YEAR]
        crontab = partial(schedules.crontab, nowfun=lambda: clock[0], app=app)
        entry, due_times = eval(before, {"crontab": crontab}), []
        while len(due_times) < COMPARED:
            last = clock[0]
            clock[0] += entry.remaining_estimate(last)
            due_times.append(int(clock[0].timestamp()))
        assert run_times(f"[{after}]", NEW_YEAR) == due_times


def test_every_row_of_the_crontab_table_is_there():
    assert len(CRONTABS) == 16


def test_triggers_of_every_kind_are_compared():
    text = " ".join(row[0] for row in TRIGGERS)
    assert all(f"{name}(" in text for name in ("DateTrigger", "IntervalTrigger", "CronTrigger", "OrTrigger"))
