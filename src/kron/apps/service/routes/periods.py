"""Periods of one schedule: past and coming, with decision, outcome and reason."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from kron.apps.service.auth.caller import Reader
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.queries import At, milliseconds
from kron.apps.service.schemas import overview
from kron.apps.service.schemas.overview_views import period_view
from kron.apps.service.schemas.requests import Id
from kron.engine.periods import MAX_PERIODS, periods, periods_around
from kron.errors import InvalidInput

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["asking"])

Begin = Annotated[str | None, Query(alias="from", max_length=40, description="earliest nominal time")]
End = Annotated[str | None, Query(max_length=40, description="latest nominal time")]
Size = Annotated[int, Query(ge=1, le=MAX_PERIODS)]
Side = Annotated[int, Query(ge=0, le=MAX_PERIODS)]


@router.get("/schedules/{schedule_id}/periods")
async def list_periods(
    schedule_id: Id,
    caller: Reader,
    begin: Begin = None,
    to: End = None,
    limit: Size = MAX_PERIODS,
    at: At = None,
    before: Side = 9,
    after: Side = 6,
    parts: AppContext = Used,
) -> overview.Periods:
    """Return periods of a schedule, also of a deleted one, with decision, outcome and reason, and requested runs.

    With `from` and `to`, the earliest `limit` periods between the two instants, both included. Otherwise the last
    `before` periods up to the instant `at` (by default now) and the first `after` periods later than it; together at
    most 100.
    """
    identity = caller.identity(schedule_id)
    if (begin is None) != (to is None):
        raise InvalidInput("BAD_FIELD", "from and to belong together", hint="add the other one, or use at")
    if begin is not None and to is not None:
        first, last = milliseconds(begin) // 1000, milliseconds(to) // 1000
        lines = await periods(parts.store, identity, first, last, limit)
    else:
        instant = await parts.store.now() if at is None else milliseconds(at)
        lines = await periods_around(parts.store, identity, instant, before, after)
    return overview.Periods(periods=[period_view(line, caller) for line in lines])
