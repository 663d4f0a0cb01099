"""Changes of one schedule: its revisions with what they changed, and its actions, latest first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kron.apps.dashboard.word_diff import Piece, definition_diff, other_changes
from kron.language.source import shown_source
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.update import Revision

MAX_CHANGES = 8
_ICONS = {ActionKind.PAUSED: "i-pause", ActionKind.RESUMED: "i-play", ActionKind.DELETED: "i-skip"}


class Change(NamedTuple):
    """Revision or action.

    Attributes:
        title: What was done.
        icon: Symbol of the page.
        at: When, in milliseconds.
        actor: Who did it; empty if it is not known.
        note: Why.
        until: End of a pause in milliseconds; None without one.
        pieces: Words of the text that changed.
        others: What else changed.
        text: Text of the first revision.
    """

    title: str
    icon: str
    at: int
    actor: str
    note: str
    until: int | None = None
    pieces: Sequence[Piece] = ()
    others: Sequence[str] = ()
    text: str = ""


def changes_of(revisions: Sequence[Revision], actions: Sequence[ScheduleAction]) -> list[Change]:
    """Return the latest changes of a schedule. Revisions and actions are oldest first."""
    recent = revisions[-MAX_CHANGES - 1 :]
    changes = [_edited(before, after) for before, after in pairwise(recent)]
    if len(revisions) <= MAX_CHANGES:
        changes.append(_defined(revisions[0]))
    changes += [_acted(action) for action in actions[-MAX_CHANGES:]]
    return sorted(changes, key=lambda change: change.at, reverse=True)[:MAX_CHANGES]


def _edited(before: Revision, after: Revision) -> Change:
    pieces, others = definition_diff(before.job, after.job), other_changes(before.job, after.job)
    return Change(f"Revision {after.number}", "i-edit", after.at, after.actor, after.note, None, pieces, others)


def _defined(revision: Revision) -> Change:
    text = shown_source(revision.job).text
    return Change(f"Revision {revision.number}", "i-edit", revision.at, revision.actor, revision.note, text=text)


def _acted(action: ScheduleAction) -> Change:
    return Change(
        str(action.kind).capitalize(), _ICONS[action.kind], action.at, action.actor, action.note, action.until
    )
