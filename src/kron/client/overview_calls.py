"""Calls of the HTTP API that are about all schedules of the caller at once, or about many periods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast
from urllib.parse import quote

from kron.client.overview_results import Activity, Attention, Load, Me, NextRuns, Period, Stats, Worker
from kron.client.pages import PAGE, paged
from kron.client.results import Json, Run
from kron.client.transport import Transport


class OverviewCalls(Transport):
    """Calls about many schedules: outcomes, running and next runs, trouble, changes and workers."""

    def stats(self, start: str, end: str, step: int = 600) -> Stats:
        """Return how many periods ended in which way between two instants (RFC 3339), by intervals of `step` s."""
        return cast(Stats, self.request("GET", "/v1/stats", query={"from": start, "to": end, "step": step}))

    def load(self, start: str, end: str, step: int = 3_600) -> Load:
        """Return how many runs are due between two instants (RFC 3339), by intervals of `step` seconds."""
        return cast(Load, self.request("GET", "/v1/load", query={"from": start, "to": end, "step": step}))

    def running(self, limit: int = 50) -> list[Run]:
        """Return up to `limit` runs that have been accepted and have not ended, the oldest attempt first."""
        return cast(list[Run], self.request("GET", "/v1/running", query={"limit": limit})["runs"])

    def workers(self) -> list[Worker]:
        """Return the registered workers of the service."""
        return cast(list[Worker], self.request("GET", "/v1/workers")["workers"])

    def next_runs(self, limit: int = 50) -> NextRuns:
        """Return the next runs of different schedules, in the order of their times."""
        return cast(NextRuns, self.request("GET", "/v1/next", query={"limit": limit}))

    def attention(self, limit: int = 20) -> Attention:
        """Return late, troubled and paused schedules and dead letters, at most `limit` of each kind."""
        return cast(Attention, self.request("GET", "/v1/attention", query={"limit": limit}))

    def troubled_runs(
        self, states: Sequence[str] = (), before: str | None = None, limit: int | None = None, page: int = PAGE
    ) -> Iterator[Run]:
        """Yield the runs of all schedules that did not end well, latest end first, with one request per page.

        Args:
            states: States such as `failed` and `missed`; empty for all that are not a success.
            before: Only runs that ended before this instant (RFC 3339).
            limit: Maximum number of runs; None yields all.
            page: Runs per request.
        """
        query: Json = {"state": list(states)} | ({} if before is None else {"before": before})
        return paged(self, "/v1/runs", "runs", query, page=page, limit=limit)

    def activity(self, limit: int | None = None, page: int = PAGE) -> Iterator[Activity]:
        """Yield the changes of all schedules, latest first, with one request per page: at most `limit`."""
        return paged(self, "/v1/activity", "changes", {}, page=page, limit=limit)

    def me(self) -> Me:
        """Return the caller: its name, its tenant and its scopes."""
        return cast(Me, self.request("GET", "/v1/me"))

    def periods(self, schedule_id: str, start: str, end: str, limit: int = 100) -> list[Period]:
        """Return the earliest periods of a schedule between two instants (RFC 3339), with the requested runs."""
        query = {"from": start, "to": end, "limit": limit}
        return cast(list[Period], self.request("GET", _periods_path(schedule_id), query=query)["periods"])

    def periods_around(
        self, schedule_id: str, at: str | None = None, *, before: int = 9, after: int = 6
    ) -> list[Period]:
        """Return the last periods of a schedule up to `at` (RFC 3339; None: now), and the first ones after it."""
        query: Json = {"before": before, "after": after} | ({} if at is None else {"at": at})
        return cast(list[Period], self.request("GET", _periods_path(schedule_id), query=query)["periods"])


def _periods_path(schedule_id: str) -> str:
    return f"/v1/schedules/{quote(schedule_id, safe='')}/periods"
