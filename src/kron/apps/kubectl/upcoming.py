"""Upcoming runs of a KronJob, computed here from its spec, between its start and its end."""

from __future__ import annotations

from kron.timing.decision import Decision
from kron.timing.job import Job
from kron.timing.upcoming_runs import upcoming_runs


def upcoming_decisions_of(job: Job, after: int, count: int) -> list[Decision]:
    """Return the next `count` decisions after an instant in seconds. A suspended KronJob has none."""
    if job.schedule.policy.suspend:
        return []
    start = after if job.start is None else max(after, job.start)
    runs = upcoming_runs(job.schedule, job.identity, start, count).runs
    nominals = [(run.decision, run.decision.period.nominal) for run in runs]
    return [
        decision
        for decision, nominal in nominals
        if (job.start is None or nominal > job.start) and (job.end is None or nominal <= job.end)
    ]
