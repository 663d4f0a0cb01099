"""Activity in PostgreSQL: what people and Kron did to schedules, and who requested runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kron.engine.overview import MAX_REQUESTS, Activity, ActivityPosition, RequestPlace
from kron.rules.action import ScheduleAction
from kron.stores.changes import latest_changes, merged_changes, pauses_by_name, requests_by_place
from kron.stores.postgres.arrays import numbers, texts
from kron.stores.postgres.pool import Pool
from kron.stores.presets import Presets


class PostgresActivity:
    """Revisions and actions of one tenant's schedules."""

    def __init__(self, pool: Pool, presets: Presets) -> None:
        self.pool, self.presets = pool, presets

    async def activity(self, scope: str, limit: int, before: ActivityPosition | None = None) -> list[Activity]:
        """Return the latest revisions and actions, latest first."""
        actions, revisions = latest_changes(before)
        action_rows = await self._rows_of_scope("latest_actions", scope, **actions, limit=limit)
        revision_rows = await self._rows_of_scope("latest_revisions", scope, **revisions, limit=limit)
        return merged_changes(action_rows, revision_rows, self.presets, limit)

    async def requests(self, places: Sequence[RequestPlace]) -> dict[RequestPlace, list[ScheduleAction]]:
        """Return the requests for runs of schedules at those times."""
        names, times = texts(name for name, _ in places), numbers(at for _, at in places)
        return requests_by_place(await self._rows("requests_at", schedules=names, times=times, limit=MAX_REQUESTS))

    async def pauses(self, scope: str, limit: int) -> dict[str, ScheduleAction | None]:
        """Return the first paused schedules in order, each with the action that paused it."""
        return pauses_by_name(await self._rows("pauses", scope=scope, limit=limit))

    async def _rows(self, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return await self.pool.read(lambda session: session.rows(query, **parameters))

    async def _rows_of_scope(self, query: str, scope: str, **parameters: Any) -> list[tuple[Any, ...]]:
        if scope:
            return await self._rows(f"{query}_of_scope", scope=scope, **parameters)
        return await self._rows(query, **parameters)
