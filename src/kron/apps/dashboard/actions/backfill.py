"""Backfill: which of the past periods ran, and which did not."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.dashboard.form import Fields, request_of, text_of
from kron.apps.dashboard.moment import read_moment, write_moment
from kron.apps.dashboard.view import View
from kron.engine.backfill import run_again
from kron.engine.backfill_plan import PlannedPeriod, backfill_plan
from kron.errors import InvalidInput
from kron.rules.run import BACKFILL
from kron.timing.schedule.policy import Overlap

DEFAULT_RANGE_MS = 86_400_000  # milliseconds before now, if the page names no range
MAX_RANGE_MS = 366 * 86_400_000
SHOWN_PERIODS = 50


async def backfill_page(view: View) -> Response:
    """Return the page that shows which periods would run, and which of them ran before."""
    query = view.request.query_params
    start = query.get("from") or write_moment(view.now - DEFAULT_RANGE_MS, view.zone)
    end = query.get("to") or write_moment(view.now, view.zone)
    plan = await _plan(view, start, end)
    missing = [period for period in plan if not period.ran]
    return view.render(
        "backfill.html",
        section="schedules",
        identity=view.named_identity,
        start=start,
        end=end,
        plan=plan[:SHOWN_PERIODS],
        count=len(plan),
        missing_count=len(missing),
    )


async def backfill(view: View, fields: Fields) -> Response:
    """Run the periods one after another, and show the schedule. The same form sent twice gives the same runs."""
    identity = view.named_identity
    plan = await _plan(view, text_of(fields, "from"), text_of(fields, "to"))
    is_all = text_of(fields, "which") == "all"
    nominals = [period.nominal for period in plan if is_all or not period.ran]
    if nominals:
        view.spend(len(nominals))
        actor = view.actor(text_of(fields, "note"))
        await run_again(view.store, identity, nominals, BACKFILL, request_of(fields), Overlap.QUEUE, actor)
    return view.redirect(view.schedule_link(identity))


async def _plan(view: View, start: str, end: str) -> list[PlannedPeriod]:
    first, last = read_moment(start, view.zone), read_moment(end, view.zone)
    if not first <= last <= first + MAX_RANGE_MS:
        message = "the range ends before it begins, or is longer than a year"
        raise InvalidInput("BAD_FIELD", message, hint="use a range of up to a year")
    return await backfill_plan(view.store, view.named_identity, first // 1000, min(last, view.now) // 1000)
