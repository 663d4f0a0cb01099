"""Backfill: which of the past periods ran, and which did not."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from kron.apps.dashboard.form import Fields, request_of, text_of
from kron.apps.dashboard.moment import read_moment, write_moment
from kron.apps.dashboard.view import View
from kron.apps.http_status import http_status
from kron.engine.backfill import run_again
from kron.engine.backfill_plan import PlannedPeriod, backfill_plan
from kron.errors import InvalidInput, KronError, QuotaExceeded
from kron.rules.run import BACKFILL
from kron.timing.schedule.policy import Overlap

HOUR_MS = 3_600_000
DEFAULT_RANGES_MS = (24 * HOUR_MS, 6 * HOUR_MS, HOUR_MS, HOUR_MS // 4)  # before now; the first that is not too long
MAX_RANGE_MS = 366 * 24 * HOUR_MS
SHOWN_PERIODS = 50


async def backfill_page(view: View) -> Response:
    """Return the page that shows which periods would run, and which of them ran before."""
    query = view.request.query_params
    start, end = query.get("from"), query.get("to") or write_moment(view.now, view.zone)
    starts = [start] if start else [write_moment(view.now - length, view.zone) for length in DEFAULT_RANGES_MS]
    return await _page(view, starts, end)


async def backfill(view: View, fields: Fields) -> Response:
    """Run the periods one after another, and show the schedule. The same form sent twice gives the same runs."""
    identity, note = view.named_identity, text_of(fields, "note")
    start, end = text_of(fields, "from"), text_of(fields, "to")
    try:
        plan = await _plan(view, start, end)
        is_all = text_of(fields, "which") == "all"
        nominals = [period.nominal for period in plan if is_all or not period.ran]
        if nominals:
            view.spend(len(nominals))
    except (InvalidInput, QuotaExceeded) as error:
        return await _page(view, [start], end, note, error)
    if nominals:
        await run_again(view.store, identity, nominals, BACKFILL, request_of(fields), Overlap.QUEUE, view.actor(note))
    return view.redirect(view.schedule_link(identity))


async def _page(
    view: View, starts: Sequence[str], end: str, note: str = "", form_error: KronError | None = None
) -> Response:
    """Return the page of the first range that is valid; if none is, that of the last one with its error."""
    identity, start = view.named_identity, ""
    plan, refusal = list[PlannedPeriod](), form_error
    for start in starts:
        try:
            plan, refusal = await _plan(view, start, end), form_error
            break
        except InvalidInput as error:
            refusal = error
    return view.render(
        "backfill.html",
        http_status(refusal) if refusal else 200,
        section="schedules",
        identity=identity,
        start=start,
        end=end,
        range=_range(view, start, end),
        note=note,
        refusal=refusal,
        plan=plan[:SHOWN_PERIODS],
        count=len(plan),
        missing_count=len([period for period in plan if not period.ran]),
    )


def _range(view: View, start: str, end: str) -> tuple[int, int]:
    """Return the ends of a range in milliseconds; the last 24 hours if it is wrong."""
    try:
        return read_moment(start, view.zone), read_moment(end, view.zone)
    except InvalidInput:
        return view.now - 24 * HOUR_MS, view.now


async def _plan(view: View, start: str, end: str) -> list[PlannedPeriod]:
    first, last = read_moment(start, view.zone), read_moment(end, view.zone)
    if last < first:
        raise InvalidInput("BAD_FIELD", "the range ends before it begins", hint="use an end after the beginning")
    if last > first + MAX_RANGE_MS:
        raise InvalidInput("BAD_FIELD", "the range is longer than a year", hint="use a range of up to a year")
    if first > view.now:
        raise InvalidInput("BAD_FIELD", "the range is in the future", hint="use a range that begins before now")
    return await backfill_plan(view.store, view.named_identity, first // 1000, min(last, view.now) // 1000)
