"""Activity in memory: what people and Kron did to schedules, and who requested runs."""

from __future__ import annotations

from collections.abc import Sequence

from kron.engine.overview import MAX_REQUESTS, Activity, ActivityPosition, RequestPlace
from kron.rules.action import REQUESTS, ActionKind, ScheduleAction
from kron.stores.memory.tables import Tables


class MemoryActivity:
    """Revisions and actions of the schedules in some tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    async def activity(self, scope: str, limit: int, before: ActivityPosition | None = None) -> list[Activity]:
        """Return the latest revisions and actions, latest first."""
        changes = [
            Activity(revision.at, name, False, revision.number, revision)
            for name, revisions in self.tables.history.items()
            for revision in revisions
        ]
        changes += [
            Activity(action.at, name, True, number, action)
            for name, actions in self.tables.recorded_actions.items()
            for number, action in enumerate(actions, 1)
        ]
        selected = [
            change
            for change in changes
            if change.identity.startswith(scope) and (before is None or change.position < before)
        ]
        return sorted(selected, key=lambda change: change.position, reverse=True)[:limit]

    async def requests(self, places: Sequence[RequestPlace]) -> dict[RequestPlace, list[ScheduleAction]]:
        """Return the requests for runs of schedules at those times."""
        recorded = {
            (name, at): [
                action
                for action in self.tables.recorded_actions.get(name, [])
                if action.at == at and action.kind in REQUESTS
            ]
            for name, at in places
        }
        return {place: actions[:MAX_REQUESTS] for place, actions in recorded.items() if actions}

    async def pauses(self, scope: str, limit: int) -> dict[str, ScheduleAction | None]:
        """Return the first paused schedules in order, each with the action that paused it."""
        cases = sorted(self.tables.cases.items())
        names = [name for name, state in cases if name.startswith(scope) and state.paused and not state.deleted]
        return {name: self._pause_of(name) for name in names[:limit]}

    def _pause_of(self, name: str) -> ScheduleAction | None:
        changes = [each for each in self.tables.recorded_actions.get(name, []) if each.kind not in REQUESTS]
        return changes[-1] if changes and changes[-1].kind is ActionKind.PAUSED else None
