"""Run now: one run in addition to the calendar."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.compute import upcoming_within_time
from kron.apps.dashboard.form import Fields, request_of, text_of
from kron.apps.dashboard.view import View
from kron.engine.request_check import require_schedule
from kron.timing.schedule.policy import Overlap


async def run_now_page(view: View) -> Response:
    """Return the page that shows what an additional run means."""
    identity = view.named_identity
    (stored,) = await view.store.get([identity])
    state = require_schedule(stored, identity)
    is_skipped = state.policy.overlap is Overlap.SKIP and any(run.active for run in state.open_runs)
    dues = (await upcoming_within_time(state, view.now, 1)).dues
    return view.render("run_now.html", section="schedules", state=state, is_skipped=is_skipped, next_due=dues[:1])


async def run_now(view: View, fields: Fields) -> Response:
    """Run the schedule, and show the run. The same form sent twice gives one run."""
    view.spend(1)
    run = await view.registrar.trigger(view.named_identity, request_of(fields), view.actor(text_of(fields, "note")))
    return view.redirect(view.link(f"runs/{run.key}"))
