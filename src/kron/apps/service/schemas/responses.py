"""Response bodies of the HTTP API. Instants are RFC 3339 in UTC; absent values are null."""

from __future__ import annotations

from pydantic import BaseModel, Field, JsonValue


class Upserted(BaseModel):
    """Response to an upsert of the cron-service specification, with warnings."""

    schedule_id: str
    next_run_at: str | None
    warnings: list[str] = []


class Row(BaseModel):
    """A schedule, with the field names of the cron-service specification."""

    schedule_id: str
    workflow_id: str | None
    version: int | None
    user_id: str | None
    cron_expr: str
    timezone: str
    start_at: str | None
    end_at: str | None
    next_run_at: str | None
    paused: bool
    jitter_ms: int
    overlap_policy: str
    catchup_policy: str
    updated_at: str
    preview: list[str]


class RunRow(BaseModel):
    """A run, with the field names of the cron-service specification."""

    idempotency_key: str
    schedule_id: str
    run_at: str
    status: str
    run_id: str | None
    created_at: str
    updated_at: str


class RunRows(BaseModel):
    """A page of a schedule's runs, newest first. The token selects the next page; it is null on the last."""

    runs: list[RunRow]
    next_page_token: str | None


class Started(BaseModel):
    """Whether the run launcher has started the run."""

    started: bool


class ScheduleView(BaseModel):
    """The current state of a schedule. Its revision is its ETag."""

    id: str
    revision: int
    schedule: str = Field(description="as its author wrote it")
    dialect: str = Field(description="dialect of `schedule`")
    timezone: str | None = Field(description="time zone of `schedule`; null if the text names its own with `@tz`")
    canonical: str = Field(
        description="canonical text: equal for all texts that mean the same schedule. It is in the kron dialect; in "
        "the service dialect, without a time zone, if the schedule has seconds or never runs"
    )
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
    payload: JsonValue
    labels: dict[str, str]
    webhook: dict[str, JsonValue] | None
    paused: bool
    paused_until: str | None
    next_run_at: str | None
    run_count: int = Field(description="scheduled runs that count for `max_runs`; 0 without it")
    runs_left: int | None = Field(description="how many of `max_runs` are left: 0 if the schedule is over")
    failure_count: int = Field(description="failed runs in a row; 0 without `pause_on_failure`")
    warnings: list[str] = []


class Page(BaseModel):
    """A page of schedules. The token selects the next page."""

    schedules: list[ScheduleView]
    next_page_token: str | None


class UpcomingRun(BaseModel):
    """An upcoming run: its period, and its chosen time."""

    period: str
    at: str


class UpcomingRuns(BaseModel):
    """Upcoming runs; `more` is true if there are more than requested."""

    runs: list[UpcomingRun]
    has_more: bool
    summary: str
    warnings: list[str] = []
    reason: str | None = None  # why there is no run


class AttemptView(BaseModel):
    """An attempt of a run: when it was sent, how long it took, and its result with the cause."""

    number: int
    at: str
    duration_ms: int
    result: str = Field(description="`ok`, `rejected`, `retryable`, `unknown`, `unsent`, `success`, `failed` or `lost`")
    code: int | None = Field(description="HTTP status, or exit status of a command")
    excerpt: str = Field(
        description="beginning of the response, exception or network error: up to 200 characters, without known secrets"
    )


class RunView(BaseModel):
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
    started_at: str | None = Field(description="when the last attempt was launched; null if it was not accepted")
    finished_at: str | None = Field(description="when the run ended; null while it is open")


class RunDetails(RunView):
    """A run with its attempts."""

    attempts: list[AttemptView] = Field(
        description="oldest first, the newest 50; empty if the run was accepted and succeeded at its first attempt"
    )


class RunPage(BaseModel):
    """A page of runs, newest first."""

    runs: list[RunView]
    next_page_token: str | None


class DeadLetter(RunView):
    """A run that could not be launched, and the run that redrove it, if any."""

    redriven_by: str | None


class DeadLetterPage(BaseModel):
    """A page of dead letters, latest first."""

    runs: list[DeadLetter]
    next_page_token: str | None


class Reported(BaseModel):
    """Whether the report changed the run, and the run's state. A finished run does not change."""

    accepted: bool
    state: str


class Why(BaseModel):
    """The outcome of one period and its reason."""

    period: str
    explanation: list[str]
    outcome: str | None
    reason: str | None
    state: str | None
    revision: int
    decision: dict[str, object] | None
    started_at: str | None
    finished_at: str | None
    attempts: list[AttemptView]


class Change(BaseModel):
    """A change of a schedule: by whom, when and why."""

    action: str
    at: str
    actor: str
    note: str
    revision: int | None = None
    schedule: str | None = Field(default=None, description="as the author of the revision wrote it")
    dialect: str | None = None
    timezone: str | None = None
    canonical: str | None = None
    until: str | None = None


class History(BaseModel):
    """All changes of a schedule, oldest first."""

    changes: list[Change]


class Secrets(BaseModel):
    """The secrets that sign the caller's webhooks, newest first."""

    secrets: list[str]


class Deployed(BaseModel):
    """The schedules of a deployed workflow."""

    schedules: list[Upserted]
