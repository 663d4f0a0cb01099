"""Activity in an SQLite file: what people and Kron did to schedules, and who requested runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kron.engine.overview import MAX_REQUESTS, Activity, ActivityPosition, RequestPlace
from kron.rules.action import ScheduleAction
from kron.stores.changes import latest_changes, merged_changes, pauses_by_name, requests_by_place
from kron.stores.codec import Row
from kron.stores.presets import Presets
from kron.stores.sqlite.file import File
from kron.stores.sqlite.parameters import upper_bound


class SqliteActivity:
    """Revisions and actions of the schedules in one file."""

    def __init__(self, file: File, presets: Presets) -> None:
        self.file, self.rows, self.presets = file, file.rows, presets

    async def activity(self, scope: str, limit: int, before: ActivityPosition | None = None) -> list[Activity]:
        """Return the latest revisions and actions, latest first."""
        actions, revisions = latest_changes(before)
        action_rows = await self._read("latest_actions", **prefix_range(scope), **actions, limit=limit)
        revision_rows = await self._read("latest_revisions", **prefix_range(scope), **revisions, limit=limit)
        return merged_changes(action_rows, revision_rows, self.presets, limit)

    async def requests(self, places: Sequence[RequestPlace]) -> dict[RequestPlace, list[ScheduleAction]]:
        """Return the requests for runs of schedules at those times."""

        def work() -> list[Row]:
            parameters = [{"schedule_id": name, "at": at, "limit": MAX_REQUESTS} for name, at in dict.fromkeys(places)]
            return [row for each in parameters for row in self.rows("requests_at", **each)]

        return requests_by_place(await self.file.read(work))

    async def pauses(self, scope: str, limit: int) -> dict[str, ScheduleAction | None]:
        """Return the first paused schedules in order, each with the action that paused it."""
        return pauses_by_name(await self._read("pauses", **prefix_range(scope), limit=limit))

    async def _read(self, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return await self.file.read(lambda: self.rows(query, **parameters))


def prefix_range(prefix: str) -> dict[str, Any]:
    """Return the range of identities that start with a prefix."""
    return {"prefix": prefix, "beyond": upper_bound(prefix)}
