"""Results of the HTTP API clients: dictionaries with these keys."""

from __future__ import annotations

from typing import Any, TypedDict

Json = dict[str, Any]


class Schedule(TypedDict):
    """A schedule with its current state."""

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
    payload: Any
    labels: dict[str, str]
    webhook: Json | None
    paused: bool
    paused_until: str | None
    next_run_at: str | None
    warnings: list[str]


class UpcomingRun(TypedDict):
    """An upcoming run: its period and the instant at which it is due."""

    period: str
    at: str


class UpcomingRuns(TypedDict):
    """Upcoming runs. `has_more` is true if there are more runs than requested."""

    runs: list[UpcomingRun]
    has_more: bool
    summary: str
    warnings: list[str]
    reason: str | None


class Run(TypedDict):
    """A run, as the ledger records it."""

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
    """A recorded attempt of a run. `code` is an HTTP status or an exit status."""

    number: int
    at: str
    duration_ms: int
    result: str
    code: int | None
    excerpt: str


class RunDetails(Run):
    """A run with its recorded attempts, oldest first. A run that succeeded at its first attempt has none."""

    attempts: list[Attempt]


class DeadLetter(Run):
    """A dead letter: a run that could not be launched. `redriven_by` is the key of its redrive, None without one."""

    redriven_by: str | None
