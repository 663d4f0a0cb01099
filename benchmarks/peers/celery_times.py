"""Times of Celery crontab schedules, as beat runs them.

Reads lines of zone, expression, start and end, separated by tabs; the last two are seconds. Writes the times with
start <= t < end, in seconds and separated by spaces, one line for each line read. It runs in an environment that has
Celery, which the environment of the project does not have.
"""

from __future__ import annotations

import sys
from datetime import datetime
from zoneinfo import ZoneInfo

from celery import Celery
from celery.schedules import crontab

WAKE_SECONDS = 300  # the longest sleep of beat by default; every case begins and ends at a multiple of it


def times(zone: str, expression: str, start: int, end: int) -> list[int]:
    """The times at which beat finds the schedule due."""
    rules, clock = ZoneInfo(zone), [start]
    app = Celery(set_as_current=False)
    app.conf.timezone = zone
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    fields = dict(zip(names, expression.lower().split(), strict=True))
    schedule = crontab(**fields, nowfun=lambda: datetime.fromtimestamp(clock[0], rules), app=app)
    last_run, due_times = datetime.fromtimestamp(start - 1, rules), []
    while clock[0] < end:
        is_due, remaining = schedule.is_due(last_run)
        if is_due:
            due_times.append(clock[0])
            last_run = datetime.fromtimestamp(clock[0], rules)
        to_wake = WAKE_SECONDS - clock[0] % WAKE_SECONDS
        clock[0] += min(max(int(remaining), 1), to_wake)
    return due_times


for line in sys.stdin:
    zone, expression, start, end = line.rstrip("\n").split("\t")
    print(*times(zone, expression, int(start), int(end)), flush=True)
