"""Run request: who asked for a run, and why; and the new run of a run that was redriven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import Look, look_of_run
from kron.apps.dashboard.view import View
from kron.engine.backfill import redrive_key
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.run import BACKFILL, REDRIVE, Run
from kron.rules.run_state import REDRIVABLE

WORDS = {
    ActionKind.TRIGGERED: "Run now",
    ActionKind.BACKFILLED: "Run past periods",
    ActionKind.REDRIVEN: "Run again",
}


class RunRequest(NamedTuple):
    """Request for a run.

    Attributes:
        word: What was requested.
        at: When, in milliseconds.
        actor: Who; empty if that is not recorded, or not certain.
        note: Why.
        redriven: Key of the run whose period runs again; empty if it is another request.
    """

    word: str
    at: int
    actor: str
    note: str
    redriven: str


class Redrive(NamedTuple):
    """New run of a run that failed, was lost or is unknown."""

    run: Run
    look: Look
    request: RunRequest


async def requests_of(view: View, runs: Sequence[Run]) -> dict[str, RunRequest]:
    """Return the requests for some runs by their keys. Runs of the calendar have none."""
    requested = [run for run in runs if run.trigger]
    if not requested:
        return {}
    places = [(run.identity, run.created) for run in requested]
    actions = await view.panel(view.overview.requests(places)) or {}
    return {run.key: _request(run, actions.get(place, ())) for run, place in zip(requested, places, strict=True)}


async def request_and_redrive(view: View, run: Run, others: Sequence[Run]) -> tuple[RunRequest | None, Redrive | None]:
    """Return the request for a run, and its new run. `others` are the runs of the same period, and of those near it."""
    new_run = next((each for each in others if each.key == redrive_key(run)), None)
    requests = await requests_of(view, [run, *([new_run] if new_run else [])])
    redrive = Redrive(new_run, look_of_run(new_run), requests[new_run.key]) if new_run else None
    return requests.get(run.key), redrive


async def redrives_of(view: View, runs: Sequence[Run]) -> dict[str, Redrive]:
    """Return the new runs of those that were redriven, by the keys of the old ones."""
    new_keys = {run.key: redrive_key(run) for run in runs if run.state in REDRIVABLE}
    if not new_keys:
        return {}
    found = await view.panel(view.store.runs_by_key(list(new_keys.values()))) or []
    new_runs = {run.key: run for run in found if run is not None}
    requests = await requests_of(view, list(new_runs.values()))
    return {
        key: Redrive(run, look_of_run(run), requests[new_key])
        for key, new_key in new_keys.items()
        if (run := new_runs.get(new_key)) is not None
    }


def _request(run: Run, actions: Sequence[ScheduleAction]) -> RunRequest:
    """Return the request for a run. Of several ones at the same millisecond, it is not certain which is the own one."""
    kind, _, name = run.trigger.partition(":")
    kinds = {BACKFILL: ActionKind.BACKFILLED, REDRIVE: ActionKind.REDRIVEN}
    action_kind = kinds.get(kind.partition("/")[0], ActionKind.TRIGGERED) if name else ActionKind.TRIGGERED
    persons = {(action.actor, action.note) for action in actions if action.kind is action_kind}
    actor, note = persons.pop() if len(persons) == 1 else ("", "")
    redriven = name if action_kind is ActionKind.REDRIVEN else ""
    return RunRequest(WORDS[action_kind], run.created, actor, note, redriven)
