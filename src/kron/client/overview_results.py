"""Results of overviews and plans of the HTTP API clients: dictionaries with these keys.

`make docs` writes this file from the OpenAPI document of the service.
"""

from __future__ import annotations

from typing import Any, TypedDict

from kron.client.results import Run, UpcomingRun


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


class BulkProblem(TypedDict):
    """Schedule or dead letter that could not be changed, and why."""

    id: str
    code: str
    message: str


class BulkResult(TypedDict):
    """Result of one batch."""

    done: int
    unchanged: int
    problems: list[BulkProblem]
    next_page_token: str | None


class BulkPlan(TypedDict):
    """Effect of a request on many schedules or dead letters. Nothing is stored."""

    count: int
    has_more: bool
    counted: int
    changed: int
    periods: int
    has_more_periods: bool
    skipped: int


class Finding(TypedDict):
    """A warning or a note about a schedule text, and its place in `text`."""

    level: str
    code: str
    message: str
    hint: str
    start: int
    end: int


class Piece(TypedDict):
    """A field or a modifier of a schedule text, its place in `text`, and its meaning in words."""

    name: str
    text: str
    start: int
    end: int
    meaning: str


class Preview(TypedDict):
    """Runs of a definition that is not stored, and what its text means."""

    runs: list[UpcomingRun]
    has_more: bool
    summary: str
    identity: str
    at: str
    text: str
    findings: list[Finding]
    pieces: list[Piece]
    decisions: list[dict[str, Any]]
    warnings: list[str]
    reason: str | None


class OutcomeCount(TypedDict):
    """How many periods that were due in an interval ended in one way."""

    at: str
    state: str
    reason: str | None
    periods: int


class Stats(TypedDict):
    """Outcomes by interval. An interval without an end of a period has no entry."""

    start: str
    end: str
    step: int
    counts: list[OutcomeCount]


class LoadInterval(TypedDict):
    """Runs that are due in an interval."""

    at: str
    runs: int
    busiest: int
    busiest_at: str | None


class LoadKind(TypedDict):
    """Runs of all schedules with the same canonical text."""

    text: str
    busiest: int
    runs: int


class Load(TypedDict):
    """Runs that are due in the coming days, as a worker counted them."""

    start: str
    end: str
    step: int
    intervals: list[LoadInterval]
    kinds: list[LoadKind]
    counted_at: str | None


class Worker(TypedDict):
    """A registered worker."""

    owner: str
    alive: bool
    joined_at: str
    renewed_at: str
    lease_until: str
    kinds: list[str]
    shards: list[int]
    tz: str


class NextRun(TypedDict):
    """Next run of a schedule."""

    schedule_id: str
    period: str
    at: str


class NextRuns(TypedDict):
    """Next runs of different schedules, in the order of their times."""

    runs: list[NextRun]
    complete: bool


class LateSchedule(TypedDict):
    """A schedule that no worker has checked in time."""

    schedule_id: str
    since: str


class TroubledSchedule(TypedDict):
    """A schedule whose last period did not end well."""

    schedule_id: str
    state: str


class PausedSchedule(TypedDict):
    """A paused schedule."""

    schedule_id: str
    paused_until: str | None


class Attention(TypedDict):
    """What needs attention; each list is bounded by the limit of the request."""

    late: list[LateSchedule]
    troubled: list[TroubledSchedule]
    dead_letters: list[Run]
    paused: list[PausedSchedule]


class Activity(TypedDict):
    """A change of a schedule by a person or by Kron."""

    action: str
    at: str
    actor: str
    note: str
    schedule_id: str
    revision: int | None
    schedule: str | None
    dialect: str | None
    timezone: str | None
    canonical: str | None
    until: str | None


class Me(TypedDict):
    """The caller."""

    name: str
    tenants: list[str]
    scopes: list[str]


class GapRecord(TypedDict):
    """Gap record: periods with the same outcome and reason."""

    first: str
    last: str
    periods: int
    outcome: str
    reason: str


class Period(TypedDict):
    """A period of a schedule, or a run outside of its calendar, such as a run that was requested."""

    period: str
    requested: bool
    revision: int
    window_start: str | None
    window_end: str | None
    chosen_at: str | None
    due_at: str
    outcome: str | None
    reason: str | None
    absence: str | None
    paused_until: str | None
    explanation: str
    run: Run | None
    gap: GapRecord | None
