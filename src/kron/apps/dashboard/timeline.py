"""Timeline: changes by people, runs in trouble and workers in one list, latest first, page by page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kron.apps.dashboard.outcome_look import Look, look_of_run
from kron.apps.dashboard.run_position import RunPosition
from kron.engine.overview import Activity, ActivityPosition, WorkerRecord
from kron.rules.run import Run
from kron.rules.run_state import State

TROUBLE_STATES = frozenset({State.FAILED, State.LOST, State.UNKNOWN, State.MISSED})


class TroubleEvent(NamedTuple):
    """Runs that ended one after another in the same way, the latest first."""

    at: int  # milliseconds: end of the latest one
    look: Look
    runs: tuple[Run, ...]


class WorkerEvent(NamedTuple):
    """Worker that joined the fleet, or whose lease ended."""

    at: int  # milliseconds
    owner: str
    is_end: bool


class Positions(NamedTuple):
    """Where a page begins: after a change, after a run, and before a time in milliseconds; None: at the beginning."""

    change: ActivityPosition | None = None
    run: RunPosition | None = None
    until: int | None = None


Event = Activity | TroubleEvent | WorkerEvent


class TimelinePage(NamedTuple):
    """Page of a timeline, and where the next one begins; None on the last page."""

    events: list[Event]
    following: Positions | None


def worker_events(records: Iterable[WorkerRecord], now: int) -> list[WorkerEvent]:
    """Return when registered workers joined, and when the leases of those that are gone ended."""
    events = list[WorkerEvent]()
    for record in records:
        events.append(WorkerEvent(record.joined, record.owner, is_end=False))
        if record.until <= now:
            events.append(WorkerEvent(record.until, record.owner, is_end=True))
    return sorted(events, reverse=True)


def timeline_page(
    changes: Sequence[Activity], runs: Sequence[Run], workers: Sequence[WorkerEvent], start: Positions, size: int
) -> TimelinePage:
    """Return the latest events of three lists.

    Args:
        changes: Changes from the start on, latest first: one more than the page has room for, if there are.
        runs: Runs in trouble, in the same way.
        workers: All events of workers.
        start: Where the page begins.
        size: How many changes, runs and events of workers the page has.
    """
    begun = [event for event in workers if start.until is None or event.at < start.until]
    all_items: list[Activity | Run | WorkerEvent] = [*begun, *changes, *runs]
    items = sorted(all_items, key=_time, reverse=True)  # stable: of the same time, workers come first
    shown, rest = items[:size], items[size:]
    while rest and isinstance(rest[0], WorkerEvent) and _time(rest[0]) == _time(shown[-1]):
        shown.append(rest.pop(0))
    if not rest:
        return TimelinePage(_grouped(shown), None)
    last_change = next((item for item in reversed(shown) if isinstance(item, Activity)), None)
    last_run = next((item for item in reversed(shown) if isinstance(item, Run)), None)
    following = Positions(
        last_change.position if last_change else start.change,
        (last_run.changed, last_run.key) if last_run else start.run,
        _time(shown[-1]),
    )
    return TimelinePage(_grouped(shown), following)


def _time(item: Activity | Run | WorkerEvent) -> int:
    return item.changed if isinstance(item, Run) else item.at


def _grouped(items: Iterable[Activity | Run | WorkerEvent]) -> list[Event]:
    """Return the events. Adjacent runs that ended in the same way are one, and so are those of the same time."""
    events = list[Event]()
    for item in items:
        if not isinstance(item, Run):
            events.append(item)
            continue
        look = look_of_run(item)
        number = _like(events, item, look)
        if number is None:
            events.append(TroubleEvent(item.changed, look, (item,)))
        else:
            event = events[number]
            assert isinstance(event, TroubleEvent)  # noqa: S101  `_like` returns no other
            events[number] = event._replace(runs=(*event.runs, item))
    return events


def _like(events: Sequence[Event], run: Run, look: Look) -> int | None:
    """Return the number of the event that a run belongs to: the last one, or one before it of the same time."""
    for number in range(len(events) - 1, -1, -1):
        event = events[number]
        is_last = number == len(events) - 1
        if not isinstance(event, TroubleEvent) or not (is_last or event.runs[-1].changed == run.changed):
            return None
        if event.look == look:
            return number
    return None
