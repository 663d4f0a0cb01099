"""Pause: the periods that it skips, and the first that runs again."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.compute import compute
from kron.apps.dashboard.form import Fields, text_of
from kron.apps.dashboard.moment import read_moment
from kron.apps.dashboard.view import View
from kron.apps.http_status import http_status
from kron.engine.request_check import require_schedule
from kron.errors import InvalidInput
from kron.rules.pause_plan import pause_plan

SHOWN_PERIODS = 20


async def pause_page(view: View) -> Response:
    """Return the page that shows what a pause would do."""
    query = view.request.query_params
    return await _page(view, query.get("until", ""), query.get("note", ""))


async def pause(view: View, fields: Fields) -> Response:
    """Pause the schedule, and show it. If the end is wrong, the page keeps what was written."""
    identity, note, until = view.named_identity, text_of(fields, "note"), text_of(fields, "until")
    actor = view.actor(note)
    try:
        await view.registrar.pause(identity, actor, until=_until(until, view))
    except InvalidInput as error:
        return await _page(view, until, note, error)
    return view.redirect(view.schedule_link(identity))


async def _page(view: View, until: str, note: str, refusal: InvalidInput | None = None) -> Response:
    """Return the page; `refusal` says why the end of the form is wrong."""
    identity = view.named_identity
    (stored,) = await view.store.get([identity])
    state = require_schedule(stored, identity)
    plan, until_at = None, None
    try:
        until_at = _until(until, view)
        plan = await compute(pause_plan, state, view.now, until_at, SHOWN_PERIODS)
    except InvalidInput as error:
        refusal = refusal or error
    return view.render(
        "pause.html",
        http_status(refusal) if refusal else 200,
        section="schedules",
        state=state,
        plan=plan,
        until=until,
        until_at=until_at,
        note=note,
        refusal=refusal,
    )


def _until(text: str, view: View) -> int | None:
    return read_moment(text, view.zone) if text else None
