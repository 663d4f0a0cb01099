"""Run search: runs of the schedules whose names begin with a text, with every outcome.

No index has the runs that succeeded in the order of time, because every run would pay for it. So they are read schedule
by schedule, of a few schedules.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kron.apps.dashboard.view import View
from kron.rules.run import Run
from kron.rules.run_state import State

MAX_SCHEDULES = 50  # schedules whose runs are read
MAX_SCANNED = 100  # runs that are read in search of one outcome


class FoundRuns(NamedTuple):
    """Page of runs, newest period first.

    Attributes:
        runs: The runs.
        before: Position after which the next page begins: nominal time and key; None on the last page.
        is_cut: Whether more schedules match than are read.
        scanned: How many runs were read in search of one outcome.
    """

    runs: list[Run]
    before: tuple[int, str] | None = None
    is_cut: bool = False
    scanned: int = 0


async def search_runs(
    view: View, text: str, states: Collection[State], limit: int, before: tuple[int, str] | None
) -> FoundRuns:
    """Return a page of the runs of the schedules whose names begin with a text.

    Args:
        view: The view.
        text: The text. If it is empty and there are more schedules than are read, no run is returned.
        states: States of the runs; empty: all.
        limit: Maximum number of runs.
        before: Position after which the page begins.
    """
    names = await view.store.identities("", MAX_SCHEDULES + 1, view.identity(text))
    is_cut = len(names) > MAX_SCHEDULES
    if not names or (is_cut and not text):
        return FoundRuns([], is_cut=is_cut)
    most = MAX_SCANNED if states else limit + 1
    scanned = await view.overview.latest_runs(names[:MAX_SCHEDULES], most, before)
    matching = [run for run in scanned if not states or run.state in states]
    shown = matching[:limit]
    last = shown[-1] if len(matching) > limit else scanned[-1] if len(scanned) == most else None
    return FoundRuns(shown, (last.nominal, last.key) if last else None, is_cut, len(scanned) if states else 0)
