"""Overview page: is anything wrong now, and what comes next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice, takewhile
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from kron.apps.compute import SEARCH_SECONDS, compute, time_limit
from kron.apps.dashboard.attention import LateSchedule, attention_items, is_waiting, late_schedules, still_troubled
from kron.apps.dashboard.charts.progress import progress
from kron.apps.dashboard.charts.strip import strip
from kron.apps.dashboard.clock_changes import SOON_DAYS, clock_lines
from kron.apps.dashboard.day_counts import (
    BAR_SECONDS,
    DAY_BARS,
    FAILED,
    HALF_DAY_BARS,
    DayCounts,
    coming_runs,
    day_counts,
    first_bar,
    strip_bars,
    strip_first,
    strip_ranges,
)
from kron.apps.dashboard.fleet_panel import FleetPanel, fleet_panel
from kron.apps.dashboard.page_turns import longest_rest
from kron.apps.dashboard.start_sample import start_sample
from kron.apps.dashboard.time_text import Form, local_text
from kron.apps.dashboard.view import View
from kron.apps.dashboard.worker_start import worker_starts
from kron.engine.overview import DayAnswer, RecentPeriods, WorkerRecord
from kron.rules.action import ScheduleAction
from kron.rules.load import Load
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.upcoming import DueSearch
from kron.timing.zone import zone

FRESH_SECONDS = 3  # a worker that dies leaves no event: the page is loaded again, also without a change
MAX_CHECKS = 50  # schedules that are read in search of late ones and of the next runs
MAX_RUNNING, MAX_NEXT, MAX_TROUBLED, MAX_PAUSED = 50, 10, 20, 5
SHOWN_RUNNING = 8
MAX_PAUSED_COUNTED = 100
BACKLOG_TEXT = f"{MAX_CHECKS} or more schedules wait for a worker, so it is not known which are late."
CUT_TEXT = "The schedules take too long to compute, so it is not known which are late."
SAMPLED_SCHEDULES = 10  # schedules that are due next, whose newest runs tell how late runs start
USUAL_RUNS = 7  # newest runs of which the median is the usual duration
MINUTE_MS = 60_000
MAX_OF_SCHEDULE = 60  # upcoming runs of one schedule


class RunningLine(NamedTuple):
    """Active run."""

    run: Run
    elapsed: int  # milliseconds
    usual: int | None  # milliseconds; None if no run of the schedule has succeeded yet
    bar: Markup


class NextLine(NamedTuple):
    """Upcoming run."""

    identity: str
    at: int  # milliseconds
    zone: str


async def overview_page(view: View) -> Response:
    """Return the page. It asks the store 8 questions, and one more if there seems to be no schedule."""
    scope, now = view.prefix, view.now
    health, (troubled, checks, pauses) = await asyncio.gather(_health(view), _listed(view))
    records, (outcomes, load, facts), running = health.workers, health.day, health.running
    if not (checks or pauses or running or outcomes) and not await view.store.identities("", 1, scope):
        return view.render("overview_empty.html", section="")
    states = await _states(view, [*checks, *islice(pauses, MAX_PAUSED), *(run.identity for run in troubled)])
    sampled = checks[:SAMPLED_SCHEDULES]
    recent = await _recent(view, [*sampled, *(run.identity for run in [*(running or [])[:SHOWN_RUNNING], *troubled])])
    fleet = None if records is None else fleet_panel(records, now, is_named=not view.tenant)
    late, dues, unknown = await _looked_at([states[name] for name in checks if name in states], now, fleet)
    lasting = still_troubled(troubled, states, recent)
    counts = None if outcomes is None else day_counts(outcomes, first_bar(now))
    return view.render(
        "overview.html",
        section="",
        sentence=_sentence(view, fleet, late, lasting, unknown=unknown),
        is_backlog=unknown != "",
        counts=counts,
        **_strip(view, counts, load),
        counted_at=None if load is None else load.written,
        fresh_seconds=fresh_seconds(view),
        starts=start_sample((recent[name] for name in sampled if name in recent), now),
        late=late,
        items=attention_items(late, lasting, dict(islice(pauses.items(), MAX_PAUSED)), states),
        clock_lines=[] if facts is None else await compute(clock_lines, facts, now // 1000, SOON_DAYS),
        paused_text=_paused_text(len(pauses)),
        running=_capped(running, MAX_RUNNING),
        running_lines=_running_lines(running or (), recent, now),
        dues=dues,
        minute_text=_minute_text(dues, now, unknown),
        fleet=fleet,
        worker_starts=worker_starts([state.job.target for state in states.values()], view.commands),
        answer_ms=health.answer_ms,
    )


async def _looked_at(
    states: Sequence[ScheduleState], now: int, fleet: FleetPanel | None
) -> tuple[list[LateSchedule], list[NextLine], str]:
    """Return the late ones and the next runs of schedules that wait for a check, and why not all are known."""
    out_of_time = time_limit(SEARCH_SECONDS)
    late = await compute(late_schedules, states, now, fleet, out_of_time)
    dues = await compute(_next_lines, states, now, out_of_time)
    if len(states) == MAX_CHECKS and all(is_waiting(state, now) for state in states):
        return late, dues, BACKLOG_TEXT
    return late, dues, CUT_TEXT if out_of_time() else ""


class _Health(NamedTuple):
    """Answers about the fleet and the day; None where the store did not answer in time."""

    workers: list[WorkerRecord] | None
    answer_ms: int
    day: DayAnswer | tuple[None, None, None]
    running: list[Run] | None


async def _health(view: View) -> _Health:
    """Ask about the fleet and the day. Another connection asks for the lists at the same time."""
    records, answer_ms = await _workers(view)
    day = await view.panel(view.overview.day(view.prefix, *strip_ranges(view.now))) or (None, None, None)
    return _Health(records, answer_ms, day, await view.panel(view.overview.running(view.prefix, MAX_RUNNING)))


async def _listed(view: View) -> tuple[list[Run], list[str], dict[str, ScheduleAction | None]]:
    """Return runs in trouble, the schedules that are checked next, and pauses."""
    troubled = await view.panel(view.overview.troubled_runs(view.prefix, FAILED, MAX_TROUBLED)) or []
    checks = await view.overview.next_checks(view.prefix, MAX_CHECKS)
    return troubled, checks, await view.overview.pauses(view.prefix, MAX_PAUSED_COUNTED + 1)


async def _workers(view: View) -> tuple[list[WorkerRecord] | None, int]:
    """Return the registered workers, and how many milliseconds the store took to answer."""
    began = asyncio.get_running_loop().time()
    records = await view.panel(view.overview.workers())
    return records, round((asyncio.get_running_loop().time() - began) * 1000)


async def _states(view: View, names: Sequence[str]) -> dict[str, ScheduleState]:
    identities = list(dict.fromkeys(names))
    found = await view.store.get(identities) if identities else []
    return {state.identity: state for state in found if state is not None}


async def _recent(view: View, names: Sequence[str]) -> Mapping[str, RecentPeriods]:
    """Return the newest runs of some schedules."""
    identities = list(dict.fromkeys(names))
    return (await view.panel(view.overview.recent(identities, USUAL_RUNS)) or {}) if identities else {}


def _capped(values: Sequence[object] | None, most: int) -> str:
    """Return a number that the page does not count further than `most`; a dash if it is not known."""
    return "—" if values is None else f"{len(values)}{'+' if len(values) == most else ''}"


def _minute_text(dues: Sequence[NextLine], now: int, unknown: str) -> str:
    """Return how many runs are due in the next minute. `unknown` says why not all schedules could be looked at."""
    count = sum(due.at <= now + MINUTE_MS for due in dues)
    return f"{count}{'+' if unknown or count >= MAX_CHECKS else ''}"


def _paused_text(count: int) -> str:
    """Return how many of the paused schedules the page shows; empty if it shows all of them."""
    number = f"more than {MAX_PAUSED_COUNTED}" if count > MAX_PAUSED_COUNTED else str(count)
    return f"{MAX_PAUSED} of {number} paused schedules" if count > MAX_PAUSED else ""


def _sentence(
    view: View, fleet: FleetPanel | None, late: Sequence[LateSchedule], troubled: Sequence[Run], *, unknown: str
) -> str:
    """Return the answer to the question of the page. `unknown` says why not all schedules could be looked at."""
    names = {each.identity for each in late} | {run.identity for run in troubled}
    if view.context.is_shared and fleet is not None and not fleet.workers:
        return "No worker is running."
    if unknown:
        return unknown
    if not names:
        return "Everything is on time."
    number = f"{len(names)} or more" if len(troubled) >= MAX_TROUBLED else str(len(names))
    verb = "schedule needs" if number == "1" else "schedules need"
    return f"{number} {verb} attention. Everything else is on time."


def fresh_seconds(view: View) -> int:
    """Return how old the page may get: longer if many pages are open, which load themselves in turns."""
    pages = view.context.mirror.listener_count if view.context.mirror else 0
    return max(FRESH_SECONDS, round(longest_rest(pages)))


def _strip(view: View, counts: DayCounts | None, load: Load | None) -> dict[str, Any]:
    """Return the strip and the labels below it; no strip if the counts are not known."""
    if counts is None:
        return {"chart": None, "axis": []}
    return {"chart": _chart(view, counts, load), "axis": _axis(view, strip_first(counts))}


def _chart(view: View, counts: DayCounts, load: Load | None) -> Markup:
    """Return the strip: outcomes of the last 12 hours, and runs that are due in the next 12 hours."""
    first = strip_first(counts)
    present = first + (HALF_DAY_BARS - 1) * BAR_SECONDS  # when the bar of now began
    minutes = [] if load is None else load.intervals
    coming = coming_runs(minutes, present, HALF_DAY_BARS + 1, BAR_SECONDS)
    bars = strip_bars(counts, coming)
    executed, failed, missed, skipped = (
        sum(getattr(bar, name) for bar in bars) for name in ("executed", "failed", "missed", "skipped")
    )
    label = (
        f"The last 12 hours in intervals of 10 minutes: {executed} executed, {failed} failed, {missed} missed, "
        f"{skipped} skipped. The next 12 hours: {sum(coming)} due"
    )
    return strip(bars, (view.now / 1000 - first) / BAR_SECONDS, label)


def _axis(view: View, first: int) -> list[str]:
    """Return the labels of the chart, one every two hours; that of now is empty."""
    times = range(first, first + DAY_BARS * BAR_SECONDS + 1, 7_200)
    labels = [local_text(at * 1000, view.now, zone(view.zone), Form.MINUTE) for at in times]
    labels[len(labels) // 2] = ""
    return labels


def _running_lines(runs: Sequence[Run], recent: Mapping[str, RecentPeriods], now: int) -> list[RunningLine]:
    lines = list[RunningLine]()
    for run in runs[:SHOWN_RUNNING]:
        past = (
            [each for each in recent[run.identity].runs if each.state is State.SUCCESS]
            if run.identity in recent
            else []
        )
        spans = [each.finished - each.started for each in past if each.finished and each.started]
        usual = round(median(spans)) if spans else None
        elapsed = max(0, now - (run.started or run.due))
        lines.append(RunningLine(run, elapsed, usual, progress(elapsed, usual) if usual else Markup("")))
    return lines


def _next_lines(states: Sequence[ScheduleState], now: int, enough: Callable[[], bool]) -> list[NextLine]:
    """Return the next runs of some schedules in the order of their due times: at least those of the next minute.

    At least MAX_NEXT are returned if the schedules have so many. Runs that are due later than the first run of each of
    MAX_NEXT schedules are not searched.
    """
    searches = [(state, iter(DueSearch(state, now, enough))) for state in states]
    firsts = [(due, state, dues) for state, dues in searches if (due := next(dues, None))]
    until = max([now + MINUTE_MS, *sorted(due.at for due, _, _ in firsts)[:MAX_NEXT]])
    lines = [
        NextLine(state.identity, due.at, state.job.schedule.zone.name)
        for first, state, others in firsts
        for due in islice(takewhile(lambda due: due.at <= until, chain([first], others)), MAX_OF_SCHEDULE)
    ]
    return sorted(lines, key=lambda line: (line.at, line.identity))
