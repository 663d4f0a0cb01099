"""Attention: the schedules that a person must look at, each with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kron.apps.dashboard.fleet_panel import FleetPanel
from kron.apps.dashboard.next_run import late_due
from kron.apps.dashboard.outcome_look import LATE, PAUSED, Look, look_of_run
from kron.engine.overview import RecentPeriods
from kron.rules.action import ScheduleAction
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.state import ScheduleState

MAX_ITEMS = 8  # of each kind
WAITING_MS = 15_000  # milliseconds: workers take over the schedules of a worker that died after this time


class LateSchedule(NamedTuple):
    """Schedule with a period that is owed, has passed and has no record."""

    identity: str
    since: int  # milliseconds: when the period was due
    cause: str  # empty if it is not known


class AttentionItem(NamedTuple):
    """Line of the list."""

    identity: str
    look: Look
    at: int | None = None  # milliseconds: when a late period was due, a run ended, or a pause ends
    text: str = ""
    run: Run | None = None
    pause: ScheduleAction | None = None  # None: it is not paused, or it is not known who paused it


def is_waiting(state: ScheduleState, now: int) -> bool:
    """Return whether no worker has checked a schedule for some time, although its check is due."""
    return state.next_check_at is not None and state.next_check_at + WAITING_MS <= now


def late_schedules(
    states: Sequence[ScheduleState], now: int, fleet: FleetPanel | None, enough: Callable[[], bool] = lambda: False
) -> list[LateSchedule]:
    """Return the late ones of some schedules, the longest waiting first. It looks no further when `enough` is True."""
    late = list[LateSchedule]()
    for state in states:
        due = None if enough() else late_due(state, now)
        if due is not None:
            late.append(LateSchedule(state.identity, due.at, fleet.cause_of_wait(state) if fleet else ""))
    return sorted(late, key=lambda each: each.since)


def attention_items(
    late: Sequence[LateSchedule],
    troubled: Sequence[Run],
    states: Mapping[str, ScheduleState],
    pauses: Mapping[str, ScheduleAction | None],
) -> list[AttentionItem]:
    """Return what needs attention: late schedules, the newest failed run of each schedule, then paused schedules."""
    items = [AttentionItem(each.identity, LATE, each.since, each.cause) for each in late[:MAX_ITEMS]]
    newest = dict[str, Run]()
    for run in troubled:
        newest.setdefault(run.identity, run)
    items += [
        AttentionItem(run.identity, look_of_run(run), run.finished, _attempts_text(run), run)
        for run in list(newest.values())[:MAX_ITEMS]
    ]
    return items + [
        AttentionItem(name, PAUSED, states[name].paused_until, pause=pause)
        for name, pause in list(pauses.items())[:MAX_ITEMS]
        if name in states
    ]


def still_troubled(
    runs: Sequence[Run], states: Mapping[str, ScheduleState], recent: Mapping[str, RecentPeriods]
) -> list[Run]:
    """Return the runs whose schedule has not succeeded since; deleted schedules are left out."""
    return [
        run
        for run in runs
        if run.identity in states
        and not states[run.identity].deleted
        and not any(
            each.state is State.SUCCESS and each.nominal >= run.nominal
            for each in (recent[run.identity].runs if run.identity in recent else ())
        )
    ]


def _attempts_text(run: Run) -> str:
    return f"{run.tries} attempts" if run.tries > 1 else ""
