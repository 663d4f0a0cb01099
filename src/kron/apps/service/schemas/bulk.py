"""Bodies of requests on many schedules or dead letters at once, and of their responses."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from kron.apps.service.schemas.requests import NO_NUL, Id, Instant, NoteBody, Overlap, RunKey, Strict

MAX_SELECTED = 500  # ids or keys in one request
Prefix = Annotated[str, Field(max_length=200, pattern=NO_NUL)]
Label = Annotated[str, Field(max_length=400, pattern=NO_NUL, description="as key=value")]
Labels = Annotated[list[Label], Field(max_length=8)]
PageToken = Annotated[Prefix, Field(description="`next_page_token` of the response before")]


class ScheduleFilter(Strict):
    """Schedules by the beginning of their ids, by labels, and by whether they are paused. `{}` means all."""

    prefix: Prefix = ""
    labels: Labels = Field(default_factory=list)
    paused: bool | None = None


class BulkRequest(NoteBody):
    """The schedules that are meant: either `ids`, or all that match `filter`, in batches of 500."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MAX_SELECTED)] | None = None
    filter: ScheduleFilter | None = None
    page_token: PageToken = ""


class BulkPause(BulkRequest):
    """A pause of many schedules: which ones, its reason, and its end."""

    until: Instant | None = None


class DeadLetterFilter(Strict):
    """Dead letters by the beginning of the ids of their schedules. `{}` means all."""

    prefix: Prefix = ""


class BulkRedrive(NoteBody):
    """The dead letters that are meant: either `keys`, or all that match `filter`, in batches of 500."""

    keys: Annotated[list[RunKey], Field(min_length=1, max_length=MAX_SELECTED)] | None = None
    filter: DeadLetterFilter | None = None
    overlap: Overlap = "queue"
    page_token: PageToken = ""


class BulkProblem(BaseModel):
    """Schedule or dead letter that could not be changed, and why."""

    id: str = Field(description="id of the schedule, or key of the dead letter")
    code: str
    message: str


class BulkResult(BaseModel):
    """Result of one batch."""

    done: int = Field(description="how many were changed")
    unchanged: int = Field(description="how many were in the requested state already")
    problems: list[BulkProblem]
    next_page_token: str | None = Field(description="for the next batch; null after the last one")


class BulkPlan(BaseModel):
    """Effect of a request on many schedules or dead letters. Nothing is stored."""

    count: int = Field(description="how many are meant, at most 10,000")
    has_more: bool = Field(description="whether more than 10,000 match")
    counted: int = Field(description="how many of them the following numbers are about")
    changed: int = Field(description="how many would change")
    periods: int = Field(description="periods of the next 24 hours that a pause drops, at most 10,000")
    has_more_periods: bool = Field(description="whether there can be more such periods")
    skipped: int = Field(description="additional runs that would be skipped, because another run is active")
