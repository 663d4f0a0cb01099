"""Resume: the first runs after the pause."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.compute import compute, upcoming_within_time
from kron.apps.dashboard.form import Fields, text_of
from kron.apps.dashboard.view import View
from kron.engine.request_check import require_schedule
from kron.rules.pause import NO_ACTOR, resumed

SHOWN_RUNS = 5


async def resume_page(view: View) -> Response:
    """Return the page that shows what happens if the schedule is resumed."""
    identity = view.named_identity
    (stored,) = await view.store.get([identity])
    state = require_schedule(stored, identity)
    update = await compute(resumed, state, view.now, NO_ACTOR)
    after = update.after if update else state
    dropped_count = (update.gap.count if update.gap else 0) + len(update.new) if update else 0
    dues = (await upcoming_within_time(after, view.now, SHOWN_RUNS)).dues
    return view.render("resume.html", section="schedules", state=state, dropped_count=dropped_count, dues=dues)


async def resume(view: View, fields: Fields) -> Response:
    """Resume the schedule, and show it."""
    identity = view.named_identity
    await view.registrar.resume(identity, view.actor(text_of(fields, "note")))
    return view.redirect(view.schedule_link(identity))
