"""Schedules page: which schedules exist, which are in trouble, and when each runs next."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from kron.apps.compute import SEARCH_SECONDS, compute, time_limit
from kron.apps.dashboard.charts.spark import spark
from kron.apps.dashboard.chip_counts import ChipCounts, chip_counts
from kron.apps.dashboard.near_names import near_names
from kron.apps.dashboard.next_run import NextRun, next_run
from kron.apps.dashboard.outcome_look import Look
from kron.apps.dashboard.period_mark import MARKS, PeriodMark, marks_of
from kron.apps.dashboard.schedule_filter import INSIDE, Filter, Matches, filter_of, matching
from kron.apps.dashboard.view import View
from kron.engine.name_search import MAX_SCANNED
from kron.engine.overview import RecentPeriods
from kron.errors import InvalidInput, clip
from kron.language.english import describe
from kron.rules.state import ScheduleState

PAGE_SIZE = 25
NEXT = "next"  # order by the next run
MAX_CHECKED = 100  # schedules among which those that run next are found
MAX_LABELS = 4  # labels that a row shows
_RUN_KEY = re.compile(r"[0-9a-fA-F]{64}")
NO_RECORDS = RecentPeriods((), ())


class ScheduleLine(NamedTuple):
    """Row of the list."""

    state: ScheduleState
    words: str
    labels: tuple[str, ...]
    spark: Markup
    last: Look | None  # None: no period yet
    last_at: int | None  # milliseconds
    next: NextRun


async def schedules_page(view: View) -> Response:
    """Return the page. A run key in the search leads to the page of the run."""
    values = view.request.query_params
    query, after = filter_of(values), values.get("after", "")
    if _RUN_KEY.fullmatch(query.text):
        return view.redirect(view.link(f"runs/{query.text.lower()}"))
    if values.get("sort", "") not in ("", NEXT):
        raise InvalidInput("BAD_FIELD", f"unknown order {clip(values['sort'])!r}", hint=f"use {NEXT}, or leave it out")
    is_by_time = values.get("sort", "") == NEXT and query.is_empty
    query, matches = (query, Matches([])) if is_by_time else await _matches(view, query, after)
    names = matches.names
    states = await _next_states(view) if is_by_time else await _states(view, names[:PAGE_SIZE])
    recent = await view.panel(view.overview.recent([state.identity for state in states], MARKS)) if states else {}
    lines = await compute(_lines, view, states, recent)
    return view.render(
        "schedules.html",
        section="schedules",
        query=query,
        is_first=not after,
        is_all=values.get("select", "") == "all" and not query.match,
        lines=lines,
        counts=await chip_counts(view, with_late=query.state != "late") if lines and not query.match else ChipCounts(),
        is_by_time=is_by_time,
        checked=MAX_CHECKED,
        after=view.name(names[PAGE_SIZE - 1] if len(names) > PAGE_SIZE else matches.searched_upto),
        near=[] if lines or not query.text else await near_names(view, query.text),
        searched=MAX_SCANNED if matches.searched_upto else 0,
        is_late_answer=matches.is_cut and not matches.searched_upto,
        can_search=_can_search(query),
        sentence=(_inside_sentence if query.match else _sentence)(
            query, len(lines), is_more=bool(after) or len(names) > PAGE_SIZE, is_cut=matches.is_cut
        ),
    )


async def _states(view: View, names: Sequence[str]) -> list[ScheduleState]:
    return [state for state in await view.store.get(names) if state is not None] if names else []


async def _next_states(view: View) -> list[ScheduleState]:
    """Return the schedules with the earliest next runs, of those that workers check next."""
    states = await _states(view, await view.overview.next_checks(view.prefix, MAX_CHECKED))
    return await compute(_by_next_run, states, view.now)


def _by_next_run(states: Sequence[ScheduleState], now: int) -> list[ScheduleState]:
    enough = time_limit(SEARCH_SECONDS)
    runs = [(next_run(state, now, enough).at, state) for state in states]
    known = [(at, state) for at, state in runs if at is not None]
    return [state for _, state in sorted(known, key=lambda each: (each[0], each[1].identity))[:PAGE_SIZE]]


async def _matches(view: View, query: Filter, after: str) -> tuple[Filter, Matches]:
    """Return the schedules that match, by their beginning. If none begins with the text, it is searched inside."""
    matches = await matching(view, query, view.identity(after) if after else "", PAGE_SIZE + 1)
    if matches.names or after or not _can_search(query):
        return query, matches
    inside = query._replace(match=INSIDE)
    return inside, await view.panel(matching(view, inside, "", PAGE_SIZE + 1)) or Matches([], is_cut=True)


def _can_search(query: Filter) -> bool:
    """Return whether a text can be searched inside of names: it is not, and nothing else is asked for."""
    return bool(query.text) and not (query.match or query.label or query.state)


def _lines(view: View, states: Sequence[ScheduleState], recent: dict[str, RecentPeriods] | None) -> list[ScheduleLine]:
    """Return the lines. Schedules whose next run takes long to find leave it open."""
    enough = time_limit(SEARCH_SECONDS)
    return [_line(view, state, recent, enough) for state in states]


def _line(
    view: View, state: ScheduleState, recent: dict[str, RecentPeriods] | None, enough: Callable[[], bool]
) -> ScheduleLine:
    upcoming_run = next_run(state, view.now, enough)
    records = NO_RECORDS if recent is None else recent.get(state.identity, NO_RECORDS)
    marks = marks_of(records, upcoming_run.late_since)
    last: PeriodMark | None = marks[-1] if marks else None
    labels = tuple(f"{key}={value}" for key, value in state.job.labels[:MAX_LABELS])
    return ScheduleLine(
        state,
        describe(state.job.schedule),
        labels,
        Markup("—") if recent is None else spark(marks),
        last.look if last else None,
        last.at if last else None,
        upcoming_run,
    )


def _sentence(query: Filter, count: int, *, is_more: bool, is_cut: bool = False) -> str:
    """Return the first line of the page. `is_cut` says that not all schedules could be looked at."""
    if query.is_empty:
        return "Schedules"
    if is_cut and not count:
        return "No late schedule was found, and not all that wait for a worker could be looked at"
    number = f"{count} or more" if is_more or is_cut else str(count)
    what = "schedule" if number == "1" else "schedules"
    verb = "is" if number == "1" else "are"
    if query.state == "late":
        return f"{number} {what} {verb} late" if count else "No schedule is late"
    if query.outcome:
        return f"The last period of {number} {what} ended as {query.outcome}" if count else "No schedule ended this way"
    paused = f" and {verb} paused" if query.state == "paused" and (query.text or query.label) else ""
    if query.state == "paused" and not paused:
        return f"{number} {what} {verb} paused" if count else "No schedule is paused"
    return f"{number} {what} match{'es' if number == '1' else ''}{paused}" if count else "Nothing matches"


def _inside_sentence(query: Filter, count: int, *, is_more: bool, is_cut: bool) -> str:
    """Return the first line of a list of names that contain a text."""
    if not count:
        return "No name that was looked at matches" if is_cut else "Nothing matches"
    number = f"{count} or more" if is_more or is_cut else str(count)
    return f"{number} {'name contains' if number == '1' else 'names contain'} “{clip(query.text)}”"
