"""Calls of the HTTP API about changes that are not made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

from kron.client.results import BackfillPlan, Json, PausePlan, ScheduleComparison
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

    def plan_pause(self, schedule_id: str, *, until: str | None = None) -> PausePlan:
        """Return the periods that would pass during a pause until the instant `until` (RFC 3339), or without an end."""
        return cast(PausePlan, self._dry_run(_path(schedule_id, "pause"), {"until": until}))

    def plan_backfill(self, schedule_id: str, start_at: str, end_at: str) -> BackfillPlan:
        """Return the periods that a backfill from `start_at` to `end_at` (RFC 3339) would run, and their outcomes."""
        body = {"start_at": start_at, "end_at": end_at}
        return cast(BackfillPlan, self._dry_run(_path(schedule_id, "backfill"), body))

    def _dry_run(self, path: str, body: Json) -> Json:
        return self.request("POST", path, body, query={"dry_run": "true"}, repeatable=True)


def _path(schedule_id: str, verb: str) -> str:
    return f"/v1/schedules/{quote(schedule_id, safe='')}/{verb}"
