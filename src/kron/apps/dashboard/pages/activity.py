"""Activity page: what people and Kron did to schedules, latest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.responses import Response

from kron.apps.dashboard.time_text import Form, local_text
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
MAX_DIFFS = 6  # schedules whose previous revision is read
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
_POSITION = re.compile(r"([0-9]{1,15})-([01])-([0-9]{1,18})-(.{1,2000})")


class ActivityLine(NamedTuple):
    """Line of the list."""

    activity: Activity
    kind: str
    actor: str
    text: str  # what the schedule says after a definition
    pieces: tuple[Piece, ...] = ()
    others: tuple[str, ...] = ()


class ActivityDay(NamedTuple):
    """Lines of one day in the zone of the viewer."""

    title: str
    lines: tuple[ActivityLine, ...]


async def activity_page(view: View) -> Response:
    """Return the page."""
    values = view.request.query_params
    who, kind = values.get("who", ""), values.get("kind", "")
    if kind and kind not in KINDS:
        message, hint = f"unknown kind {clip(kind)!r}", f"use one of {', '.join(KINDS)}"
        raise InvalidInput("BAD_FIELD", message, hint=hint)
    limit = READ_WITH_FILTER if who or kind else PAGE_SIZE
    changes = await view.overview.activity(view.prefix, limit + 1, _position(values.get("before", "")))
    selected = [change for change in changes[:limit] if who in ("", _actor(change)) and kind in ("", _kind(change))]
    shown = selected[:PAGE_SIZE]
    last = shown[-1] if len(selected) > PAGE_SIZE else changes[limit - 1] if len(changes) > limit else None
    return view.render(
        "activity.html",
        section="activity",
        who=who,
        kind=kind,
        kinds=KINDS,
        people=sorted({name for change in changes[:limit] if (name := _actor(change))})[:8],
        days=_days(view, await _lines(view, shown, changes)),
        shown=len(shown),
        absence="" if shown else _absence(who, kind, is_first=not values.get("before"), is_more=last is not None),
        is_first=not values.get("before", ""),
        before=_position_text(last) if last is not None else "",
    )


async def _lines(view: View, shown: Sequence[Activity], changes: Sequence[Activity]) -> list[ActivityLine]:
    """Return the lines. Previous revisions are taken from the changes that were read, then from the store."""
    revisions = {(each.identity, each.number): each.change for each in changes if isinstance(each.change, Revision)}
    wanted = {
        each.identity: None
        for each in shown
        if not each.is_action and each.number > 1 and (each.identity, each.number - 1) not in revisions
    }
    for identity in list(wanted)[:MAX_DIFFS]:
        for revision in await view.panel(view.store.revisions(identity)) or ():
            revisions[identity, revision.number] = revision
    return [_line(each, revisions.get((each.identity, each.number - 1))) for each in shown]


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


def _days(view: View, lines: Sequence[ActivityLine]) -> list[ActivityDay]:
    local_zone = zone(view.zone)
    today = local_zone.wall(view.now // 1000).day
    names = {today: "Today", today - 1: "Yesterday"}
    days = list[ActivityDay]()
    for day, of_day in groupby(lines, lambda line: local_zone.wall(line.activity.at // 1000).day):
        day_lines = tuple(of_day)
        date = local_text(day_lines[0].activity.at, view.now, local_zone, Form.DAY)
        days.append(ActivityDay(names.get(day, date), day_lines))
    return days


def _absence(who: str, kind: str, *, is_first: bool, is_more: bool) -> str:
    """Return the heading of a page without a change."""
    if not (who or kind):
        return "Nothing was changed" if is_first else "Nothing was changed before"
    what = " ".join([*([f"“{KINDS[kind][0]}”"] if kind else []), *([f"by {clip(who)}"] if who else [])])
    if is_more:
        return f"None of the {'latest' if is_first else 'next'} {READ_WITH_FILTER} changes is {what}"
    return f"No {'' if is_first else 'older '}change is {what}"


def _position_text(activity: Activity) -> str:
    at, identity, is_action, number = activity.position
    return f"{at}-{int(is_action)}-{number}-{quote(identity, safe='')}"


def _position(text: str) -> ActivityPosition | None:
    """Return the position in the list that the address names.

    Raises:
        InvalidInput: The text names none.
    """
    if not text:
        return None
    match = _POSITION.fullmatch(text)
    if match is None:
        message, hint = f"{clip(text)!r} is not a position in this list", "use the links of the page"
        raise InvalidInput("BAD_FIELD", message, hint=hint)
    return int(match[1]), unquote(match[4]), match[2] == "1", int(match[3])
