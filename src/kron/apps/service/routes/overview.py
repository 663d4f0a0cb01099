"""Overview: questions about all schedules of the caller at once. Every answer is bounded."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from kron.apps.service.auth.caller import Caller, Reader, Watcher
from kron.apps.service.auth.guard import Guarded
from kron.apps.service.compute import SEARCH_SECONDS, compute, time_limit
from kron.apps.service.context import AppContext, Used
from kron.apps.service.routes.queries import bad_token, milliseconds, page_run
from kron.apps.service.routes.schedules import Limit, Token
from kron.apps.service.schemas import overview, responses
from kron.apps.service.schemas.overview_views import (
    activity_view,
    attention_view,
    load_view,
    next_run_view,
    stats_view,
    workers_view,
)
from kron.apps.service.schemas.requests import NO_NUL
from kron.apps.service.schemas.views import run_view
from kron.engine.attention import attention
from kron.engine.overview import MAX_NEXT, TROUBLE, ActivityPosition
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import InvalidInput
from kron.rules.next_runs import next_runs
from kron.rules.run_state import State

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["overview"])

MAX_LOAD_SECONDS = 31 * 86_400
MAX_INTERVALS = 1_500  # intervals in one answer
Begin = Annotated[str, Query(alias="from", max_length=40, description="begin, an instant")]
End = Annotated[str, Query(max_length=40, description="end, an instant, not included")]
Step = Annotated[int, Query(ge=60, le=31 * 86_400, multiple_of=60, description="seconds of an interval")]
Few = Annotated[int, Query(ge=1, le=100)]
Next = Annotated[int, Query(ge=1, le=MAX_NEXT)]
TroubleName = Literal["cancelled", "failed", "lost", "missed", "skipped", "unknown", "unschedulable"]
States = Annotated[list[TroubleName], Query(max_length=7, description="states of the runs; without any, all of them")]
Before = Annotated[str | None, Query(max_length=40, description="only runs that ended before this instant")]
PositionToken = Annotated[str, Query(max_length=300, pattern=NO_NUL)]
_FIRST_KEY = "0" * 64  # sorts before all keys
_POSITION = re.compile(r"([0-9]{1,15})\.([01])\.([0-9]{1,9})\.(.+)")


@router.get("/stats")
async def stats(begin: Begin, to: End, caller: Reader, step: Step = 600, parts: AppContext = Used) -> overview.Stats:
    """Return how many periods ended in which way, by intervals of the time at which they were due.

    The begin is rounded down to a multiple of the step. At most 1,500 intervals are returned. Minutes older than two
    days are kept as quarters of an hour.
    """
    first, last = milliseconds(begin) // 1000 // step * step, milliseconds(to) // 1000
    check_intervals(first, last, step)
    counts = await parts.store.overview.outcomes(caller.prefix, first, last, step)
    return stats_view(counts, first, last, step)


def check_intervals(first: int, last: int, step: int) -> None:
    """Raise if a range is empty or has too many intervals."""
    if last <= first:
        raise InvalidInput("BAD_FIELD", "to is not after from", hint="use a later instant")
    if last - first > MAX_INTERVALS * step:
        hint = "use a longer step or a shorter range"
        raise InvalidInput("BAD_FIELD", f"the range has more than {MAX_INTERVALS:,} intervals", hint=hint)


@router.get("/load")
async def load(begin: Begin, to: End, caller: Reader, step: Step = 3600, parts: AppContext = Used) -> overview.LoadView:
    """Return how many runs are due in each interval, its busiest minute, and the texts with most runs.

    A worker counts the coming 8 days about every 10 minutes, and in a large service less often: `counted_at` says when.
    The begin is rounded down to a multiple of the step. At most 1,500 intervals are returned.
    """
    first, last = milliseconds(begin) // 1000 // step * step, milliseconds(to) // 1000
    check_intervals(first, last, step)
    if last - first > MAX_LOAD_SECONDS:
        raise InvalidInput("BAD_FIELD", "the range is longer than 31 days", hint="use a shorter range")
    found = await parts.store.overview.load(caller.prefix, first, last, step)
    return load_view(found, first, last, step)


@router.get("/running")
async def running(caller: Reader, limit: Few = 50, parts: AppContext = Used) -> overview.RunList:
    """Return runs that their targets have accepted and that have not ended, the oldest attempt first."""
    runs = await parts.store.overview.running(caller.prefix, limit)
    return overview.RunList(runs=[run_view(run, caller) for run in runs])


@router.get("/workers")
async def workers(caller: Watcher, parts: AppContext = Used) -> overview.Workers:
    """Return the registered workers of the whole service, and the shards of each of them."""
    set_tenant_scope(ALL_TENANTS)  # workers serve all tenants, and their records name none
    records = await parts.store.overview.workers()
    return await compute(workers_view, records, await parts.store.now())


@router.get("/next")
async def next_of_all(caller: Reader, limit: Next = 50, parts: AppContext = Used) -> overview.NextRuns:
    """Return the next runs of different schedules, in the order of their decided times."""
    names = await parts.store.overview.next_checks(caller.prefix, MAX_NEXT)
    found, now = await parts.store.get_with_time(names)
    states, has_more = [state for state in found if state], len(names) == MAX_NEXT
    out_of_time = time_limit(SEARCH_SECONDS)
    runs = await compute(next_runs, states, now, limit, more=has_more, enough=out_of_time)
    is_complete = not out_of_time.reached and (len(runs) == limit or not has_more)
    return overview.NextRuns(runs=[next_run_view(run, caller) for run in runs], complete=is_complete)


@router.get("/attention")
async def needs_attention(caller: Reader, limit: Few = 20, parts: AppContext = Used) -> overview.AttentionView:
    """Return late, troubled and paused schedules and dead letters: of each kind at most `limit`."""
    return attention_view(await attention(parts.store, caller.prefix, limit), caller)


@router.get("/runs")
async def troubled_runs(
    caller: Reader,
    state: States = [],  # noqa: B006  FastAPI copies it
    before: Before = None,
    limit: Limit = 20,
    page_token: Token = "",
    parts: AppContext = Used,
) -> responses.RunPage:
    """List the runs of all schedules that did not end well, latest end first, in pages.

    Runs that succeeded are listed by schedule only.
    """
    position = None if before is None else (milliseconds(before), _FIRST_KEY)
    if page_token:
        last = await page_run(page_token, caller, parts)
        position = last.changed, last.key
    states = {State(name) for name in state} or TROUBLE
    runs = await parts.store.overview.troubled_runs(caller.prefix, states, limit, position)
    token = runs[-1].key if len(runs) == limit else None
    return responses.RunPage(runs=[run_view(run, caller) for run in runs], next_page_token=token)


@router.get("/activity")
async def activity(
    caller: Reader, limit: Limit = 50, page_token: PositionToken = "", parts: AppContext = Used
) -> overview.ActivityPage:
    """List definitions, pauses, resumptions and deletions of all schedules, latest first, in pages."""
    position = _position(page_token, caller) if page_token else None
    found = await parts.store.overview.activity(caller.prefix, limit, position)
    token = _token(found[-1].position, caller) if len(found) == limit else None
    changes = [activity_view(each, caller, parts.config) for each in found]
    return overview.ActivityPage(changes=changes, next_page_token=token)


def _token(position: ActivityPosition, caller: Caller) -> str:
    at, identity, is_action, number = position
    return f"{at}.{int(is_action)}.{number}.{caller.name(identity)}"


def _position(token: str, caller: Caller) -> ActivityPosition:
    match = _POSITION.fullmatch(token)
    if match is None:
        raise bad_token()
    at, is_action, number, name = match.groups()
    return int(at), caller.prefix + name, is_action == "1", int(number)


@router.get("/me")
async def me(caller: Reader, parts: AppContext = Used) -> overview.Me:
    """Return the caller: its name, its tenant and its scopes."""
    tenants = [caller.tenant] if caller.tenant else []
    return overview.Me(name=caller.who, tenants=tenants, scopes=sorted(caller.scopes))
