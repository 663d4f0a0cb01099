"""What the interface answers: instants as RFC 3339 in UTC, absence as null."""

from __future__ import annotations

from pydantic import BaseModel


class Upserted(BaseModel):
    """The document's answer to an upsert, and what is rarely meant."""

    schedule_id: str
    next_run_at: str | None
    warnings: list[str] = []


class Row(BaseModel):
    """A schedule, by the names of the document."""

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
    """A run, by the names of the document."""

    idempotency_key: str
    schedule_id: str
    run_at: str
    status: str
    run_id: str | None
    created_at: str
    updated_at: str


class RunRows(BaseModel):
    """A page of the runs of a schedule, newest first; the token leads to the next page, and is null on the last."""

    runs: list[RunRow]
    next_page_token: str | None


class Started(BaseModel):
    """Whether the run launcher has started it."""

    started: bool


class Shown(BaseModel):
    """A schedule as it stands. Its revision is its ETag."""

    id: str
    revision: int
    schedule: str
    dialect: str
    timezone: str
    in_words: str
    target: str | None
    workflow_id: str | None
    version: int | None
    user_id: str | None
    description: str
    start_at: str | None
    end_at: str | None
    jitter_ms: int
    overlap_policy: str
    catchup_policy: str
    completion: str
    deadline_ms: int | None
    paused: bool
    paused_until: str | None
    next_run_at: str | None
    warnings: list[str] = []


class Page(BaseModel):
    """A page of schedules; the next one has the token."""

    schedules: list[Shown]
    next_page_token: str | None


class Fire(BaseModel):
    """A run to come: the period, and the instant that was chosen for it."""

    period: str
    at: str


class Fires(BaseModel):
    """The runs to come; cut short if there are more than were asked for."""

    fires: list[Fire]
    more: bool
    in_words: str
    warnings: list[str] = []
    reason: str | None = None  # why there is no run


class RunShown(BaseModel):
    """A run: the period it is of, how far it has come, and why it ended as it did."""

    key: str
    schedule_id: str
    period: str
    due: str
    state: str
    outcome: str | None
    reason: str | None
    trigger: str | None
    revision: int
    attempt: int
    run_id: str | None
    created_at: str
    updated_at: str


class RunPage(BaseModel):
    """A page of runs, newest first."""

    runs: list[RunShown]
    next_page_token: str | None


class Dead(RunShown):
    """A run that could not be started; and the run that was driven in its place, if one was."""

    redriven_by: str | None


class DeadPage(BaseModel):
    """A page of runs that could not be started, the last that was given up first."""

    runs: list[Dead]
    next_page_token: str | None


class Reported(BaseModel):
    """Whether the report changed anything, and the run's state. A run that is finished stays as it is."""

    counted: bool
    state: str


class Why(BaseModel):
    """The account of one period."""

    period: str
    words: list[str]
    outcome: str | None
    reason: str | None
    state: str | None
    revision: int
    decision: dict[str, object]


class Change(BaseModel):
    """Something that was done to a schedule: by whom, when and why."""

    what: str
    at: str
    who: str
    note: str
    revision: int | None = None
    schedule: str | None = None
    until: str | None = None


class History(BaseModel):
    """All that was done to a schedule, oldest first."""

    changes: list[Change]


class Secrets(BaseModel):
    """The secrets that webhooks of the caller are signed with, the newest first."""

    secrets: list[str]


class Deployed(BaseModel):
    """The schedules of a workflow that was deployed."""

    schedules: list[Upserted]
