"""Activity page: what people and Kron did to schedules, what went wrong, and which workers came and went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.responses import Response

from kron.apps.dashboard.run_position import match_position, read_position, write_position
from kron.apps.dashboard.time_text import Form, local_text
from kron.apps.dashboard.timeline import (
    TROUBLE_STATES,
    Event,
    Positions,
    TroubleEvent,
    WorkerEvent,
    timeline_page,
    worker_events,
)
from kron.apps.dashboard.view import View
from kron.apps.dashboard.word_diff import Piece, definition_diff, other_changes
from kron.engine.overview import Activity, ActivityPosition
from kron.errors import InvalidInput, clip
from kron.language.source import shown_source
from kron.rules.action import KRON_ACTOR, ActionKind, ScheduleAction
from kron.rules.update import Revision
from kron.timing.zone import zone

PAGE_SIZE = 25
READ_WITH_FILTER = 100  # changes that a page reads if only some of them are shown
MAX_DIFFS = 4  # schedules whose previous revision is read
KINDS = {
    "defined": ("Defined", "i-edit", ""),
    "changed": ("Changed", "i-edit", ""),
    ActionKind.PAUSED.value: ("Paused", "i-pause", "skp"),
    ActionKind.RESUMED.value: ("Resumed", "i-play", "ok"),
    ActionKind.DELETED.value: ("Deleted", "i-dead", "fail"),
    ActionKind.TRIGGERED.value: ("Run now", "i-play", ""),
    ActionKind.BACKFILLED.value: ("Past periods run", "i-back", ""),
    ActionKind.REDRIVEN.value: ("Run again", "i-back", ""),
}
GROUPS = {  # what is not a change of one kind
    "people": ("Changes", "i-edit", ""),
    "trouble": ("Trouble", "i-fail", "fail"),
    "workers": ("Workers", "i-run", ""),
}
_POSITION = re.compile(r"([0-9]{1,15})-([01])-([0-9]{1,18})-(.{1,2000})")
_UNTIL = re.compile(r"[0-9]{1,15}")


class ActivityLine(NamedTuple):
    """Line of the list."""

    activity: Activity
    kind: str
    actor: str
    text: str  # what the schedule says after a definition
    pieces: tuple[Piece, ...] = ()
    others: tuple[str, ...] = ()


Line = ActivityLine | TroubleEvent | WorkerEvent


class ActivityDay(NamedTuple):
    """Lines of one day in the zone of the viewer."""

    title: str
    lines: tuple[Line, ...]


async def activity_page(view: View) -> Response:
    """Return the page: everything, or the changes of a kind or a person."""
    values = view.request.query_params
    who, kind = values.get("who", ""), values.get("kind", "")
    if kind and kind not in KINDS and kind not in GROUPS:
        message, hint = f"unknown kind {clip(kind)!r}", f"use one of {', '.join([*GROUPS, *KINDS])}"
        raise InvalidInput("BAD_FIELD", message, hint=hint)
    start = Positions(_position(values.get("before", "")), read_position(values.get("runs", "")), _until(view))
    if kind in KINDS or who or kind == "people":
        changes, shown, following = await _selected(view, who, "" if kind in GROUPS else kind, start)
    else:
        changes, shown, following = await _everything(view, kind, start)
    is_first = start == Positions()
    return view.render(
        "activity.html",
        section="activity",
        who=who,
        kind=kind,
        kinds=KINDS,
        groups={name: each for name, each in GROUPS.items() if name != "workers" or not view.tenant},
        people=sorted({name for change in changes if (name := _actor(change))})[:8],
        days=_days(view, await _lines(view, shown, changes)),
        shown=len(shown),
        absence="" if shown else _absence(who, kind, is_first=is_first, is_more=following is not None),
        is_first=is_first,
        following=_addressed(following),
    )


async def _selected(
    view: View, who: str, kind: str, start: Positions
) -> tuple[list[Activity], list[Event], Positions | None]:
    """Return the changes that were read, those of a person and a kind, and where the next page begins."""
    limit = READ_WITH_FILTER if who or kind else PAGE_SIZE
    changes = await view.overview.activity(view.prefix, limit + 1, start.change)
    selected = [change for change in changes[:limit] if who in ("", _actor(change)) and kind in ("", _kind(change))]
    shown: list[Event] = [*selected[:PAGE_SIZE]]
    last = selected[PAGE_SIZE - 1] if len(selected) > PAGE_SIZE else changes[limit - 1] if changes[limit:] else None
    return changes[:limit], shown, Positions(last.position) if last else None


async def _everything(view: View, kind: str, start: Positions) -> tuple[list[Activity], list[Event], Positions | None]:
    """Return the changes that were read, the events of a page, and where the next page begins."""
    overview, scope, limit = view.overview, view.prefix, PAGE_SIZE + 1
    changes = await overview.activity(scope, limit, start.change) if kind == "" else []
    runs = await overview.troubled_runs(scope, TROUBLE_STATES, limit, start.run) if kind != "workers" else []
    records = await view.panel(overview.workers()) if kind != "trouble" and not view.tenant else None
    page = timeline_page(changes, runs, worker_events(records or (), view.now), start, PAGE_SIZE)
    return changes, page.events, page.following


def _addressed(following: Positions | None) -> dict[str, str | int]:
    """Return the parameters of the address at which the next page begins; none on the last page."""
    if following is None:
        return {}
    change = _position_text(following.change) if following.change else ""
    return {"before": change, "runs": write_position(following.run), "until": following.until or ""}


def _until(view: View) -> int | None:
    match = match_position(_UNTIL, view.request.query_params.get("until", ""))
    return int(match[0]) if match else None


async def _lines(view: View, shown: Sequence[Event], changes: Sequence[Activity]) -> list[Line]:
    """Return the lines. Previous revisions are taken from the changes that were read, then from the store."""
    revisions = {(each.identity, each.number): each.change for each in changes if isinstance(each.change, Revision)}
    wanted = {
        each.identity: None
        for each in shown
        if isinstance(each, Activity)
        and not each.is_action
        and each.number > 1
        and (each.identity, each.number - 1) not in revisions
    }
    for identity in list(wanted)[:MAX_DIFFS]:
        for revision in await view.panel(view.store.revisions(identity)) or ():
            revisions[identity, revision.number] = revision
    return [
        _line(each, revisions.get((each.identity, each.number - 1))) if isinstance(each, Activity) else each
        for each in shown
    ]


def _line(activity: Activity, before: Revision | ScheduleAction | None) -> ActivityLine:
    if isinstance(activity.change, ScheduleAction):
        return ActivityLine(activity, _kind(activity), _actor(activity), "")
    job = activity.change.job
    line = ActivityLine(activity, _kind(activity), _actor(activity), shown_source(job).text)
    if activity.number == 1 or not isinstance(before, Revision):
        return line
    return line._replace(pieces=tuple(definition_diff(before.job, job)), others=tuple(other_changes(before.job, job)))


def _kind(activity: Activity) -> str:
    if isinstance(activity.change, ScheduleAction):
        return activity.change.kind.value
    return "defined" if activity.number == 1 else "changed"


def _actor(activity: Activity) -> str:
    """Return who made the change. Kron ends a pause by itself, without a name."""
    name = activity.change.actor
    is_own = isinstance(activity.change, ScheduleAction) and activity.change.kind is ActionKind.RESUMED and not name
    return KRON_ACTOR if is_own else name


def _days(view: View, lines: Sequence[Line]) -> list[ActivityDay]:
    local_zone = zone(view.zone)
    today = local_zone.wall(view.now // 1000).day
    names = {today: "Today", today - 1: "Yesterday"}
    days = list[ActivityDay]()
    for day, of_day in groupby(lines, lambda line: local_zone.wall(_time(line) // 1000).day):
        day_lines = tuple(of_day)
        date = local_text(_time(day_lines[0]), view.now, local_zone, Form.DAY)
        days.append(ActivityDay(names.get(day, date), day_lines))
    return days


def _time(line: Line) -> int:
    return line.activity.at if isinstance(line, ActivityLine) else line.at


def _absence(who: str, kind: str, *, is_first: bool, is_more: bool) -> str:
    """Return the heading of a page without a change."""
    if kind in ("trouble", "workers") and not who:
        return "No run is in trouble" if kind == "trouble" else "No worker is registered"
    kind = "" if kind in GROUPS else kind
    if not (who or kind):
        return "Nothing was changed" if is_first else "Nothing was changed before"
    what = " ".join([*([f"“{KINDS[kind][0]}”"] if kind else []), *([f"by {clip(who)}"] if who else [])])
    if is_more:
        return f"None of the {'latest' if is_first else 'next'} {READ_WITH_FILTER} changes is {what}"
    return f"No {'' if is_first else 'older '}change is {what}"


def _position_text(position: ActivityPosition) -> str:
    at, identity, is_action, number = position
    return f"{at}-{int(is_action)}-{number}-{quote(identity, safe='')}"


def _position(text: str) -> ActivityPosition | None:
    """Return the position in the list that the address names.

    Raises:
        InvalidInput: The text names none.
    """
    match = match_position(_POSITION, text)
    return (int(match[1]), unquote(match[4]), match[2] == "1", int(match[3])) if match else None
