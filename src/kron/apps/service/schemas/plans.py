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
