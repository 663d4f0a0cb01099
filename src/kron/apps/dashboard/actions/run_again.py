"""Run again: a new run for the period of one that failed, was lost or is unknown."""

from __future__ import annotations

from starlette.responses import Response

from kron.apps.dashboard.form import Fields, text_of
from kron.apps.dashboard.outcome_look import look_of_run
from kron.apps.dashboard.view import View
from kron.errors import NotFound
from kron.rules.run import Run
from kron.rules.run_state import REDRIVABLE


async def run_again_page(view: View) -> Response:
    """Return the page that shows which period would run again."""
    run = await _run(view)
    is_possible = run.state in REDRIVABLE
    return view.render("run_again.html", section="runs", run=run, look=look_of_run(run), is_possible=is_possible)


async def run_again(view: View, fields: Fields) -> Response:
    """Run the period again, and show the new run. The same run redriven twice gives one new run."""
    run = await _run(view)
    view.spend(1)
    new = await view.registrar.redrive(run.key, actor=view.actor(text_of(fields, "note")))
    return view.redirect(view.link(f"runs/{new.key}"))


async def _run(view: View) -> Run:
    """Return the run that the address names. A run of another tenant does not exist."""
    key = view.request.path_params["key"]
    (run,) = await view.store.runs_by_key([key])
    if run is None or not run.identity.startswith(view.prefix):
        raise NotFound("NOT_FOUND", "there is no such run", hint="use a key that the list of runs shows")
    return run
