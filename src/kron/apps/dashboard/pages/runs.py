"""Runs page: what did not succeed, when and why; all runs of some schedules; the dead letters; and what runs now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response

from kron.apps.dashboard.chip_counts import dead_letter_count
from kron.apps.dashboard.dead_letter_group import DeadLetterGroup, dead_letter_groups, host_of_target
from kron.apps.dashboard.outcome_look import (
    CANCELLED,
    FAILED,
    LOST,
    MISSED,
    NO_VALID_TIME,
    RUNNING,
    SKIPPED,
    SUCCEEDED,
    UNKNOWN,
    Look,
    look_of_run,
)
from kron.apps.dashboard.run_cause import RunCause, cause_of
from kron.apps.dashboard.run_position import match_position, read_position, write_position
from kron.apps.dashboard.run_request import Redrive, redrives_of
from kron.apps.dashboard.run_search import MAX_SCHEDULES, FoundRuns, search_runs
from kron.apps.dashboard.rung import run_length
from kron.apps.dashboard.time_text import span_text
from kron.apps.dashboard.view import View
from kron.engine.overview import TROUBLE
from kron.errors import InvalidInput, clip
from kron.rules.attempt import Attempt
from kron.rules.run import Run
from kron.rules.run_state import REDRIVABLE, State

PAGE_SIZE = 25
MAX_RUNNING = 50
RUNNING_FILTER = "running"
FILTERS = {
    RUNNING_FILTER: RUNNING,
    State.SUCCESS.value: SUCCEEDED,
    State.FAILED.value: FAILED,
    State.LOST.value: LOST,
    State.UNKNOWN.value: UNKNOWN,
    State.MISSED.value: MISSED,
    State.SKIPPED.value: SKIPPED,
    State.UNSCHEDULABLE.value: NO_VALID_TIME,
    State.CANCELLED.value: CANCELLED,
}
SINCE = {"24h": ("Last 24 h", 86_400_000), "7d": ("Last 7 d", 604_800_000)}  # milliseconds
_KEY = re.compile(r"[0-9a-f]{64}")


class RunLine(NamedTuple):
    """Row of the list."""

    run: Run
    look: Look
    cause: RunCause
    can_run_again: bool
    redrive: Redrive | None  # None: the run was not redriven


async def runs_page(view: View) -> Response:
    """Return the page of runs that did not succeed, of runs of some schedules, of dead letters, or of active runs."""
    values = view.request.query_params
    if values.get("dead", "") == "1":
        return await _dead_letters(view, values.get("q", "").strip(), values.get("before", ""))
    outcome = values.get("outcome", "")
    if outcome and outcome not in FILTERS:
        message, hint = f"unknown outcome {clip(outcome)!r}", f"use one of {', '.join(FILTERS)}"
        raise InvalidInput("BAD_FIELD", message, hint=hint)
    text, since = values.get("q", "").strip(), values.get("since", "")
    if since and since not in SINCE:
        raise InvalidInput("BAD_FIELD", f"unknown time {clip(since)!r}", hint=f"use one of {', '.join(SINCE)}")
    if outcome == State.SUCCESS or (text and outcome != RUNNING_FILTER):
        return await _runs_of_schedules(view, text, outcome, values.get("before", ""))
    if outcome == RUNNING_FILTER:
        runs = await view.overview.running(view.prefix, MAX_RUNNING)
    else:
        states = {State(outcome)} if outcome else TROUBLE
        position, begin = read_position(values.get("before", "")), view.now - SINCE[since][1] if since else 0
        ended = await view.overview.troubled_runs(view.prefix, states, PAGE_SIZE + 1, position)
        runs = [run for run in ended if run.changed >= begin]
    is_more = outcome != RUNNING_FILTER and len(runs) > PAGE_SIZE
    shown = runs[:PAGE_SIZE] if is_more else runs
    return view.render(
        "runs.html",
        section="runs",
        dead_count=await dead_letter_count(view),
        outcome_filter=outcome,
        filters=FILTERS,
        since=since,
        times=SINCE,
        sentence=_sentence(outcome, shown, SINCE[since][0] if since else ""),
        lines=await _lines(view, shown),
        is_first=not values.get("before", ""),
        before=write_position((shown[-1].changed, shown[-1].key) if is_more else None),
    )


async def _runs_of_schedules(view: View, text: str, outcome: str, before: str) -> Response:
    """Return the runs of schedules whose names begin with a text, of all outcomes or of one."""
    states = {State(outcome)} if outcome else set[State]()
    found = await search_runs(view, text, states, PAGE_SIZE, read_position(before))
    return view.render(
        "runs.html",
        section="runs",
        dead_count=await dead_letter_count(view),
        outcome_filter=outcome,
        filters=FILTERS,
        text=text,
        found=found,
        most=MAX_SCHEDULES,
        sentence=_search_sentence(text, outcome, found),
        lines=await _lines(view, found.runs),
        is_first=not before,
        before=write_position(found.before),
    )


async def _dead_letters(view: View, text: str, before: str) -> Response:
    """Return the dead letters of schedules whose names begin with a text, in groups of one host."""
    match_position(_KEY, before)
    runs = await view.store.dead_letters(view.identity(text), PAGE_SIZE + 1, before)
    shown = runs[:PAGE_SIZE]
    targets = await _targets(view, shown)
    hosts = {name: host_of_target(target) for name, target in targets.items()}
    groups = dead_letter_groups(shown, lambda run: hosts.get(run.identity, ""))
    lines = {line.run.key: line for line in await _lines(view, shown, targets)}
    return view.render(
        "dead_letters.html",
        section="runs",
        dead_count=await dead_letter_count(view),
        text=text,
        is_all=view.request.query_params.get("select", "") == "all",
        groups=groups,
        lines=lines,
        redriven_keys={key for key, line in lines.items() if line.redrive},
        sentence=_dead_sentence(groups, is_more=len(runs) > PAGE_SIZE),
        is_first=not before,
        before=shown[-1].key if len(runs) > PAGE_SIZE else "",
    )


async def _targets(view: View, runs: Sequence[Run]) -> dict[str, str]:
    """Return the targets of the schedules of some runs."""
    names = list(dict.fromkeys(run.identity for run in runs))
    states = await view.store.get(names) if names else []
    return {state.identity: state.job.target for state in states if state is not None}


async def _lines(view: View, runs: Sequence[Run], targets: Mapping[str, str] | None = None) -> list[RunLine]:
    """Return the rows. `targets` are those of the schedules, if they are known already."""
    targets = await _targets(view, runs) if targets is None else targets
    attempts = await view.panel(view.store.attempts([run.key for run in runs])) if runs else []
    tried = attempts if attempts is not None else [()] * len(runs)
    redrives = await redrives_of(view, runs)
    return [
        RunLine(
            run,
            look_of_run(run),
            _cause(run, each, targets.get(run.identity, "")),
            run.state in REDRIVABLE and run.key not in redrives,
            redrives.get(run.key),
        )
        for run, each in zip(runs, tried, strict=True)
    ]


def _cause(run: Run, attempts: Sequence[Attempt], target: str) -> RunCause:
    """Return why a run ended as it did; for a run that succeeded, how long it took."""
    cause, length = cause_of(run, attempts, target), run_length(run)
    if run.state is not State.SUCCESS or length is None:
        return cause
    return cause._replace(text=", ".join(part for part in (span_text(length), cause.text) if part))


def _sentence(outcome: str, runs: Sequence[Run], time: str) -> str:
    """Return the answer of the page; `time` is that of the filter, in words."""
    if outcome == RUNNING_FILTER:
        count = f"{len(runs)} or more" if len(runs) >= MAX_RUNNING else str(len(runs))
        return f"{count} {'run is' if count == '1' else 'runs are'} active" if runs else "No run is active"
    if not runs:
        return f"No such run in the {time.lower()}" if time else "No such run"
    what = f"Runs that ended as {FILTERS[outcome].word.lower()}" if outcome else "Runs that did not succeed"
    return f"{what}, {time.lower()}" if time else what


def _search_sentence(text: str, outcome: str, found: FoundRuns) -> str:
    if found.is_cut and not text:
        return "Runs that succeeded are listed by schedule"
    ended = "succeeded" if outcome == State.SUCCESS else f"ended as {FILTERS[outcome].word.lower()}" if outcome else ""
    what = f"Runs that {ended}" if ended else "All runs"
    if not found.runs:
        return "No such run" if found.before is None else f"None of these {found.scanned} runs"
    return f"{what}, of schedules that begin with “{clip(text)}”" if text else what


def _dead_sentence(groups: Sequence[DeadLetterGroup], *, is_more: bool) -> str:
    count, hosts = sum(len(group.runs) for group in groups), {group.host for group in groups}
    if not count:
        return "No dead letters"
    number = f"{count} or more" if is_more else str(count)
    where = f", all of {next(iter(hosts))}" if len(hosts) == 1 and count > 1 else ""
    return f"{number} dead {'letter' if number == '1' else 'letters'}{where}"
