"""Comparison of a shadow daemon with cron: what both did, what only one of them did, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kron.apps.krontab.shadow.cron_log import CronLog, Task
from kron.apps.krontab.shadow.pairing import MINUTE_MS, pair
from kron.apps.krontab.shadow.periods import ShadowPeriod, TaskPeriods
from kron.rules.outcome import REASON_TEXT
from kron.timing.job import Job
from kron.timing.schedule.dst import AFTER_FIRST
from kron.timing.zone import rfc3339, rfc3339_ms

NO_JOB = "No job of the tables has this user and command."
NO_PERIOD = "The job has no period in this minute."
OTHERS_ONLY = "cron started other commands in this minute, and not this one."
SEVERAL_TIMES = "The clocks skipped several listed times: cron ran the job once for each, and Kron runs it once."
NEVER = "cron started nothing in this log."
NOT_RECORDED = "krond has not recorded this period: it does not run, or has not handled the period yet."
_REPEAT_MINUTES = 10  # after a clock change in which cron makes up for the skipped times


class Side(StrEnum):
    """Who ran a job, or would have run it."""

    CRON = "cron"
    KRON = "Kron"


class Both(NamedTuple):
    """A period that cron ran, and that Kron would have run. Lateness is in milliseconds."""

    job: str
    nominal: int
    cron_late: int
    kron_late: int


class Difference(NamedTuple):
    """A run of one side only. `nominal` is the minute of the run, in seconds; `job` is empty if no job is like it."""

    nominal: int
    side: Side
    job: str
    task: Task
    why: str


@dataclass
class Comparison:
    """Result: pairs, differences, and how many periods neither side ran."""

    both: list[Both] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    neither: int = 0

    def count(self, side: Side) -> int:
        """Return how many runs only one side made."""
        return sum(each.side is side for each in self.differences)


def compare(tasks: Mapping[Task, TaskPeriods], log: CronLog, start: int, end: int) -> Comparison:
    """Compare the periods of a shadow daemon with the log of cron.

    Args:
        tasks: Periods by user and command.
        log: What the log says.
        start: Periods from this second on are compared, and starts of cron in the minutes from it on.
        end: First second after the compared ones, the beginning of a minute.
    """
    result = Comparison()
    for task in sorted({*tasks, *log.starts}):
        group, starts = tasks.get(task, TaskPeriods()), log.starts.get(task, [])
        pairs = pair([each.nominal for each in group.periods], starts, group.late_minutes)
        start_times, paired_starts = {each.period: each.at for each in pairs}, {each.start for each in pairs}
        for number, period in enumerate(group.periods):
            if not start <= period.nominal < end:
                continue
            if number in start_times:
                _add_pair(result, task, period, start_times[number])
            else:
                _add_period(result, task, period, log)
        unpaired = [instants[0] for number, instants in enumerate(starts) if number not in paired_starts]
        result.differences += _only_cron(task, group, [at for at in unpaired if start <= at // MINUTE_MS * 60 < end])
    result.differences.sort()
    return result


def _add_pair(result: Comparison, task: Task, period: ShadowPeriod, at: int) -> None:
    if period.started is None:
        why = REASON_TEXT[period.reason] if period.reason else NOT_RECORDED
        result.differences.append(Difference(period.nominal, Side.CRON, period.job, task, why))
    else:
        late = at - period.nominal * 1000, period.started - period.due
        result.both.append(Both(period.job, period.nominal, *late))


def _add_period(result: Comparison, task: Task, period: ShadowPeriod, log: CronLog) -> None:
    """Add a period that cron has not run."""
    if period.started is None:
        result.neither += 1
    else:
        why = _why_not_cron(log, period.nominal // 60)
        result.differences.append(Difference(period.nominal, Side.KRON, period.job, task, why))


def _why_not_cron(log: CronLog, minute: int) -> str:
    if minute in log.busy:
        return OTHERS_ONLY
    before, after = log.silence(minute)
    last = "" if before is None else f"it started nothing after {rfc3339_ms(before)}"
    if after is None:
        return f"cron was stopped, or the log ends: {last}." if last else NEVER
    if log.has_startup(after):
        return f"cron was not running: {f'{last}, and' if last else 'it'} was started at {rfc3339_ms(after)}."
    return f"cron started nothing {f'from {rfc3339_ms(before)} to' if before else 'before'} {rfc3339_ms(after)}."


def _only_cron(task: Task, group: TaskPeriods, starts: Sequence[int]) -> Iterator[Difference]:
    """Yield the starts of cron that no period belongs to."""
    for at in starts:
        minute = at // MINUTE_MS * 60
        if not group.jobs:
            yield Difference(minute, Side.CRON, "", task, NO_JOB)
        elif at < group.began:
            why = f"krond read the job later, at {rfc3339(group.began // 1000)}."
            yield Difference(minute, Side.CRON, group.jobs[0][0], task, why)
        else:
            is_repeated = any(_follows_gap(job, minute) for _, job in group.jobs)
            yield Difference(minute, Side.CRON, group.jobs[0][0], task, SEVERAL_TIMES if is_repeated else NO_PERIOD)


def _follows_gap(job: Job, minute: int) -> bool:
    """Return whether a job has fixed times, and the clocks went forward shortly before a minute."""
    schedule = job.schedule
    shifts = schedule.zone.shifts(minute - _REPEAT_MINUTES * 60, minute + 60)
    return schedule.terms.dst == AFTER_FIRST and any(shift.after > shift.before for shift in shifts)
