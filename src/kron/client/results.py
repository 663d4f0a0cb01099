"""Results of the HTTP API clients: dictionaries with these keys.

`make docs` writes this file from the OpenAPI document of the service.
"""

from __future__ import annotations

from typing import Any, TypedDict

Json = dict[str, Any]


class Schedule(TypedDict):
    """The current state of a schedule. Its revision is its ETag."""

    id: str
    revision: int
    schedule: str
    dialect: str
    timezone: str | None
    canonical: str
    summary: str
    target: str | None
    workflow_id: str | None
    version: int | None
    user_id: str | None
    description: str
    start_at: str | None
    end_at: str | None
    jitter_ms: int
    overlap_policy: str
    overlap_limit: int | None
    catchup_policy: str
    completion: str
    deadline_ms: int | None
    launch_attempts: int | None
    launch_backoff_ms: int
    launch_factor: int
    launch_max_delay_ms: int
    launch_jitter_percent: int
    retry_delay_ms: int | None
    retry_attempts: int | None
    retry_factor: int
    retry_max_delay_ms: int | None
    retry_jitter_percent: int
    timeout_ms: int | None
    max_runs: int | None
    pause_on_failure: int | None
    after_end: str
    payload: Any
    labels: dict[str, str]
    webhook: dict[str, Any] | None
    paused: bool
    paused_until: str | None
    next_run_at: str | None
    run_count: int
    runs_left: int | None
    failure_count: int
    warnings: list[str]


class UpcomingRun(TypedDict):
    """An upcoming run: its period, and its chosen time."""

    period: str
    at: str


class UpcomingRuns(TypedDict):
    """Upcoming runs; `more` is true if there are more than requested."""

    runs: list[UpcomingRun]
    has_more: bool
    summary: str
    warnings: list[str]
    reason: str | None


class Run(TypedDict):
    """A run: its period, state, outcome and reason."""

    key: str
    schedule_id: str
    period: str
    due_at: str
    state: str
    outcome: str | None
    reason: str | None
    trigger: str | None
    revision: int
    attempt: int
    run_id: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None


class Attempt(TypedDict):
    """An attempt of a run: when it was sent, how long it took, and its result with the cause."""

    number: int
    at: str
    duration_ms: int
    result: str
    code: int | None
    excerpt: str


class RunDetails(TypedDict):
    """A run with its attempts."""

    key: str
    schedule_id: str
    period: str
    due_at: str
    state: str
    outcome: str | None
    reason: str | None
    trigger: str | None
    revision: int
    attempt: int
    run_id: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    attempts: list[Attempt]


class DeadLetter(TypedDict):
    """A run that could not be launched, and the run that redrove it, if any."""

    key: str
    schedule_id: str
    period: str
    due_at: str
    state: str
    outcome: str | None
    reason: str | None
    trigger: str | None
    revision: int
    attempt: int
    run_id: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    redriven_by: str | None


class Why(TypedDict):
    """The outcome of one period and its reason."""

    period: str
    explanation: list[str]
    outcome: str | None
    reason: str | None
    state: str | None
    revision: int
    decision: dict[str, Any] | None
    started_at: str | None
    finished_at: str | None
    attempts: list[Attempt]


class Change(TypedDict):
    """A change of a schedule: by whom, when and why."""

    action: str
    at: str
    actor: str
    note: str
    revision: int | None
    schedule: str | None
    dialect: str | None
    timezone: str | None
    canonical: str | None
    until: str | None


class Upserted(TypedDict):
    """Response to an upsert of the cron-service specification, with warnings."""

    schedule_id: str
    next_run_at: str | None
    warnings: list[str]


class MovedRun(TypedDict):
    """An upcoming run that both definitions have, at different times."""

    period: str
    before: str
    after: str


class ScheduleComparison(TypedDict):
    """Effect of a new definition on the upcoming runs. Nothing is stored."""

    added: list[UpcomingRun]
    moved: list[MovedRun]
    lost: list[UpcomingRun]
    until: str
    changes: list[str]
    revision: int
    reason: str | None
    warnings: list[str]


class PausePlan(TypedDict):
    """Effect of a pause that is not made."""

    periods: list[UpcomingRun]
    has_more: bool
    first_after: UpcomingRun | None
    resume: str


class PlannedPeriod(TypedDict):
    """A period of a backfill that is not made, and what became of the period before."""

    period: str
    ran: bool
    outcome: str | None
    reason: str | None
    state: str | None
    key: str | None


class BackfillPlan(TypedDict):
    """Effect of a backfill that is not made."""

    periods: list[PlannedPeriod]
    ran: int
