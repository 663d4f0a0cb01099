"""Counts of the filters of the list of schedules and of dead letters, which are not counted further than a limit."""

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
    return ChipCounts(
        "" if late is None else number_text(late[0], is_cut=late[1]), number_text(failed), number_text(paused)
    )


async def dead_letter_count(view: View) -> str:
    """Return how many dead letters there are; empty if there is none or if it is not known."""
    runs = await view.panel(view.store.dead_letters(view.prefix, MOST + 1))
    return number_text(runs) if runs else ""


def number_text(names: Sized | None, *, is_cut: bool = False) -> str:
    """Return how many there are; with a plus sign if there are more than `MOST`."""
    if names is None:
        return ""
    return f"{min(len(names), MOST)}+" if is_cut or len(names) > MOST else str(len(names))
