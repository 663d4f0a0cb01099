"""Job record for applications: what the store knows about one job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kron.apps.embedded.current_run import local_time
from kron.language.canonical import unparse
from kron.rules.state import ScheduleState
from kron.rules.upcoming import upcoming


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job in the store, as it is now.

    Attributes:
        name: Name of the job.
        schedule: Text of the schedule as its author wrote it. For `every` and `at`, the text in the `plus` dialect.
        timezone: Name of the time zone in which the schedule is evaluated.
        next_run: Time of the next run, in this time zone; None if the job has no next run.
        paused: Whether the job is paused.
        revision: Number of the definition, from 1. Each change of the definition adds 1.
        declared: Whether this process declares the job, and can run it.
        runs_left: How many more runs `max_runs` allows; None without a limit.
    """

    name: str
    schedule: str
    timezone: str
    next_run: datetime | None
    paused: bool
    revision: int
    declared: bool
    runs_left: int | None = None


def info_of_job(state: ScheduleState, now: int, declared: bool) -> JobInfo:
    """Return the record of a job at `now` (milliseconds)."""
    job, zone = state.job, state.job.schedule.zone
    text = unparse(job.schedule) if job.source is None else job.source.text
    due_times = [due.at for due in upcoming(state, now, 1)]
    return JobInfo(
        name=state.identity,
        schedule=text,
        timezone=zone.name,
        next_run=local_time(due_times[0], zone.rules) if due_times else None,
        paused=state.paused and not state.pause_expired(now),
        revision=state.revision,
        declared=declared,
        runs_left=state.runs_left,
    )
