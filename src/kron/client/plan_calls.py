"""Calls of the HTTP API about changes that are not made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

from kron.client.results import ScheduleComparison
from kron.client.transport import Transport


class PlanCalls(Transport):
    """Calls that say what a change would do. Nothing is stored."""

    def compare(
        self, schedule_id: str, definition: Mapping[str, Any], *, until: str | None = None
    ) -> ScheduleComparison:
        """Return the upcoming runs that a definition would add, move and lose.

        Args:
            schedule_id: Id of the schedule. All runs of a schedule that does not exist are added.
            definition: Fields of the new definition.
            until: End of the comparison (RFC 3339); None: 30 days.
        """
        query = {} if until is None else {"until": until}
        path = _path(schedule_id, "compare")
        return cast(ScheduleComparison, self.request("POST", path, dict(definition), query=query, repeatable=True))


def _path(schedule_id: str, verb: str) -> str:
    return f"/v1/schedules/{quote(schedule_id, safe='')}/{verb}"
