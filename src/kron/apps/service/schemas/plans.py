"""Response bodies about changes that are not made: a new definition, a pause, a backfill."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kron.apps.service.schemas.responses import UpcomingRun


class MovedRun(BaseModel):
    """An upcoming run that both definitions have, at different times."""

    period: str
    before: str
    after: str


class ScheduleComparison(BaseModel):
    """Effect of a new definition on the upcoming runs. Nothing is stored."""

    added: list[UpcomingRun]
    moved: list[MovedRun]
    lost: list[UpcomingRun]
    until: str = Field(description="as far as the comparison reaches: `until`, or the last of 1,000 runs")
    changes: list[str] = Field(description="other changed fields, such as `target: a -> b`")
    revision: int = Field(description="present revision of the schedule; 0 if it does not exist")
    reason: str | None = Field(description="why the new definition has no upcoming run")
    warnings: list[str]


class PausePlan(BaseModel):
    """Effect of a pause that is not made."""

    periods: list[UpcomingRun] = Field(
        description="periods that fall due during the pause or are dropped by it; the first 100"
    )
    has_more: bool = Field(description="whether there are more such periods")
    first_after: UpcomingRun | None = Field(
        description="first run that is due after the pause; null if the pause has no end"
    )
    resume: str = Field(
        description="what happens to the periods at the end of the pause: `drop`, or `by-deadline`: each of them runs "
        "unless its deadline has passed"
    )


class PlannedPeriod(BaseModel):
    """A period of a backfill that is not made, and what became of the period before."""

    period: str
    ran: bool = Field(description="whether the period was executed before")
    outcome: str | None
    reason: str | None
    state: str | None = Field(description="state of the run; null without a run")
    key: str | None = Field(description="key of the run; null without a run")


class BackfillPlan(BaseModel):
    """Effect of a backfill that is not made."""

    periods: list[PlannedPeriod]
    ran: int = Field(description="number of the periods that were executed before")
