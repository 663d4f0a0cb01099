"""Pause: the periods that it skips, and the first that runs again."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.compute import compute
from kron.apps.dashboard.form import Fields, text_of
from kron.apps.dashboard.moment import read_moment
from kron.apps.dashboard.view import View
from kron.engine.request_check import require_schedule
from kron.rules.pause_plan import pause_plan

SHOWN_PERIODS = 20


async def pause_page(view: View) -> Response:
    """Return the page that shows what a pause would do."""
    identity, query = view.named_identity, view.request.query_params
    until, note = query.get("until", ""), query.get("note", "")
    (stored,) = await view.store.get([identity])
    state = require_schedule(stored, identity)
    plan = await compute(pause_plan, state, view.now, _until(until, view), SHOWN_PERIODS)
    return view.render("pause.html", section="schedules", state=state, plan=plan, until=until, note=note)


async def pause(view: View, fields: Fields) -> Response:
    """Pause the schedule, and show it."""
    identity, note = view.named_identity, text_of(fields, "note")
    await view.registrar.pause(identity, view.actor(note), until=_until(text_of(fields, "until"), view))
    return view.redirect(view.schedule_link(identity))


def _until(text: str, view: View) -> int | None:
    return read_moment(text, view.zone) if text else None
