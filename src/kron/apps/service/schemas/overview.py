"""Response bodies about many schedules at once, and about the periods of one."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kron.apps.service.schemas.responses import Change, RunView


class OutcomeCountView(BaseModel):
    """How many periods that were due in an interval ended in one way."""

    at: str = Field(description="start of the interval")
    state: str
    reason: str | None
    periods: int


class Stats(BaseModel):
    """Outcomes by interval. An interval without an end of a period has no entry."""

    start: str
    end: str
    step: int = Field(description="seconds")
    counts: list[OutcomeCountView]


class LoadIntervalView(BaseModel):
    """Runs that are due in an interval."""

    at: str = Field(description="start of the interval")
    runs: int
    busiest: int = Field(description="runs in the busiest minute of the interval")
    busiest_at: str | None = Field(description="the busiest minute; null without runs")


class LoadKindView(BaseModel):
    """Runs of all schedules with the same canonical text."""

    text: str = Field(description="the first 200 characters of the canonical text")
    busiest: int = Field(description="runs in the busiest minute")
    runs: int


class LoadView(BaseModel):
    """Runs that are due in the coming days, as a worker counted them."""

    start: str
    end: str
    step: int = Field(description="seconds")
    intervals: list[LoadIntervalView]
    kinds: list[LoadKindView] = Field(description="texts with most runs, at most 10; of whole hours")
    counted_at: str | None = Field(description="when the oldest part was counted; null if nothing was counted yet")


class RunList(BaseModel):
    """Runs, of which there can be more."""

    runs: list[RunView]


class WorkerView(BaseModel):
    """A registered worker."""

    owner: str
    alive: bool
    joined_at: str = Field(description="since when it has been registered without a break")
    renewed_at: str = Field(description="last renewal of its lease")
    lease_until: str
    kinds: list[str] = Field(description="kinds of target that it can launch, the first 100")
    shards: list[int] = Field(description="shards from which it reads schedules, of 64; empty if it is not alive")
    tz: str = Field(description="version of its tz database")


class Workers(BaseModel):
    """The registered workers, also those whose lease has ended recently."""

    workers: list[WorkerView]


class NextRunView(BaseModel):
    """Next run of a schedule."""

    schedule_id: str
    period: str
    at: str


class NextRuns(BaseModel):
    """Next runs of different schedules, in the order of their times."""

    runs: list[NextRunView]
    complete: bool = Field(description="false if there can be more runs than were found within the search limits")


class LateSchedule(BaseModel):
    """A schedule that no worker has checked in time."""

    schedule_id: str
    since: str


class TroubledSchedule(BaseModel):
    """A schedule whose last period did not end well."""

    schedule_id: str
    state: str


class PausedSchedule(BaseModel):
    """A paused schedule."""

    schedule_id: str
    paused_until: str | None


class AttentionView(BaseModel):
    """What needs attention; each list is bounded by the limit of the request."""

    late: list[LateSchedule]
    troubled: list[TroubledSchedule] = Field(
        description="failed, lost, unknown and missed: as many of each as the limit"
    )
    dead_letters: list[RunView]
    paused: list[PausedSchedule]


class ActivityView(Change):
    """A change of a schedule by a person or by Kron."""

    schedule_id: str


class ActivityPage(BaseModel):
    """Changes of schedules, latest first."""

    changes: list[ActivityView]
    next_page_token: str | None


class Me(BaseModel):
    """The caller."""

    name: str
    tenants: list[str] = Field(description="tenant of the token; empty if the service has no tenants")
    scopes: list[str]


class GapView(BaseModel):
    """Gap record: periods with the same outcome and reason."""

    first: str
    last: str
    periods: int
    outcome: str
    reason: str


class PeriodView(BaseModel):
    """A period of a schedule, or a run outside of its calendar, such as a run that was requested."""

    period: str
    requested: bool = Field(description="whether the line is about a run that was requested")
    revision: int = Field(description="revision that decided the period")
    window_start: str | None = Field(description="null for a run outside of the calendar")
    window_end: str | None
    chosen_at: str | None = Field(
        description="null if no second satisfies the constraints, and outside of the calendar"
    )
    due_at: str
    outcome: str | None
    reason: str | None
    absence: str | None = Field(
        description="why there is no record: `coming`, `late`, `paused`, `suspended`, `undefined`, `deleted`, `over` "
        "or `earlier`; null if there is one"
    )
    paused_until: str | None
    explanation: str = Field(description="outcome and reason in words, or why there is no record")
    run: RunView | None
    gap: GapView | None


class Periods(BaseModel):
    """Periods of a schedule in the order of their nominal times, with the requested runs among them."""

    periods: list[PeriodView]
