"""Run record for applications: what the store knows about one run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from kron.apps.embedded.current_run import local_time
from kron.rules.run import Run


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Record of a run. Times are in the time zone of the job. The result of the function is not stored.

    Attributes:
        key: Idempotency key of the run.
        job: Name of the job.
        period: Nominal time of the period. For a triggered run, the time of the request.
        chosen_time: Time at which the run was due.
        state: Position in the life cycle, such as `enqueued`, `started`, `success` or `failed`.
        outcome: `executed`, `skipped`, `missed` or `unschedulable`; None if it is not known yet.
        reason: Cause of the outcome, such as `overlap`, `deadline` or `failed`; None if there is none.
        attempt: Number of the last attempt; 0 before the first.
        triggered: Whether the run was requested, in addition to the schedule.
        created_at: Time at which the run was recorded.
        launched_at: Time at which the last attempt was launched; None before the first.
        ended_at: Time at which the end was recorded; None if the run has not ended.
    """

    key: str
    job: str
    period: datetime
    chosen_time: datetime
    state: str
    outcome: str | None
    reason: str | None
    attempt: int
    triggered: bool
    created_at: datetime
    launched_at: datetime | None
    ended_at: datetime | None

    @property
    def succeeded(self) -> bool:
        """Whether the function ended without an exception."""
        return self.state == "success"


def info_of_run(run: Run, zone: tzinfo) -> RunInfo:
    """Return the record of a run, with times in a time zone."""
    return RunInfo(
        key=run.key,
        job=run.identity,
        period=local_time(run.nominal * 1000, zone),
        chosen_time=local_time(run.due, zone),
        state=str(run.state),
        outcome=None if run.outcome is None else str(run.outcome),
        reason=None if run.reason is None else str(run.reason),
        attempt=run.attempt,
        triggered=run.trigger != "",
        created_at=local_time(run.created, zone),
        launched_at=local_time(run.sent, zone) if run.sent else None,
        ended_at=None if run.open else local_time(run.changed, zone),
    )
