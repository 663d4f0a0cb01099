"""Changes of schedules in the order of time: revisions and actions, which are kept in two tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kron.engine.overview import Activity, ActivityPosition, RequestPlace
from kron.rules.action import ActionKind, ScheduleAction
from kron.stores.codec import Row, read_action, read_revision
from kron.stores.presets import Presets

_EVER = (1 << 62) - 1


def latest_changes(before: ActivityPosition | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters with which actions and revisions are read: both come after `before` in the merged order.

    Where a schedule has both at one time, actions come first.
    """
    if before is None:
        start = {"before": _EVER, "name": "", "number": 0}
        return start, start
    at, identity, is_action, number = before
    position = {"before": at, "name": identity}
    return (
        {**position, "number": number if is_action else 0},
        {**position, "number": (1 << 31) - 1 if is_action else number},
    )


def merged_changes(actions: Sequence[Row], revisions: Sequence[Row], presets: Presets, limit: int) -> list[Activity]:
    """Return actions and revisions, latest first."""
    changes = [Activity(row[3], row[0], True, row[1], read_action(row[0], row[2:])) for row in actions]
    for row in revisions:
        revision = read_revision(row, presets)
        changes.append(Activity(revision.at, revision.identity, False, revision.number, revision))
    return sorted(changes, key=lambda change: change.position, reverse=True)[:limit]


def pauses_by_name(rows: Sequence[Row]) -> dict[str, ScheduleAction | None]:
    """Return the paused schedules of some rows, each with its last action if that is a pause."""
    actions = {row[0]: None if row[1] is None else read_action(row[0], row[2:]) for row in rows}
    return {
        name: action if action is not None and action.kind is ActionKind.PAUSED else None
        for name, action in sorted(actions.items())
    }


def requests_by_place(actions: Sequence[Row]) -> dict[RequestPlace, list[ScheduleAction]]:
    """Return the requests of some rows by schedule and time."""
    requests = dict[RequestPlace, list[ScheduleAction]]()
    for row in actions:
        requests.setdefault((row[0], row[3]), []).append(read_action(row[0], row[2:]))
    return requests
