"""Counts of the filters of the list of schedules, which are not counted further than a limit."""

from __future__ import annotations

from collections.abc import Sized
from typing import NamedTuple

from kron.apps.dashboard.schedule_filter import late_names
from kron.apps.dashboard.view import View
from kron.rules.run_state import State

MOST = 100


class ChipCounts(NamedTuple):
    """How many schedules a filter shows, in words; empty if it is not known."""

    late: str = ""
    failed: str = ""
    paused: str = ""


async def chip_counts(view: View, *, with_late: bool) -> ChipCounts:
    """Return the counts. The store is asked four questions, each by an index; without the late ones two."""
    late = await view.panel(late_names(view)) if with_late else None
    failed = await view.panel(view.overview.troubled_schedules(view.prefix, State.FAILED, "", MOST + 1))
    paused = await view.panel(view.overview.paused(view.prefix, "", MOST + 1))
    return ChipCounts("" if late is None else _text(late[0], is_cut=late[1]), _text(failed), _text(paused))


def _text(names: Sized | None, *, is_cut: bool = False) -> str:
    """Return a number; with a plus sign if there are more."""
    if names is None:
        return ""
    return f"{min(len(names), MOST)}+" if is_cut or len(names) > MOST else str(len(names))
