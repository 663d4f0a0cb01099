"""Blocking HTTP API client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4

from kron.client.bulk_calls import BulkCalls
from kron.client.overview_calls import OverviewCalls
from kron.client.pages import PAGE, paged
from kron.client.plan_calls import PlanCalls
from kron.client.results import Change, Json, Run, Schedule, UpcomingRuns, Why
from kron.client.run_calls import RunCalls
from kron.client.service_calls import ServiceCalls


class Client(RunCalls, PlanCalls, BulkCalls, OverviewCalls, ServiceCalls):
    """Blocking client of one service. Threads can share it: each call opens its own connection.

    A call is repeated if the service did not receive it or asks to wait. If the response was lost, a call that creates
    something is repeated with the same idempotency key.

    If the service rejects a call, the method raises the error that the service raised, such as `NotFound` or
    `RevisionConflict`. It raises `LanguageError` if the error has a position in a schedule text, and `Unavailable` if
    the service does not answer.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
        retries: How often a call is repeated.
    """

    def schedules(
        self, prefix: str = "", paused: bool | None = None, page: int = PAGE, *, labels: Mapping[str, str] | None = None
    ) -> Iterator[Schedule]:
        """Yield the schedules in the order of their ids, with one request per page.

        Args:
            prefix: Yield only ids that start with this text.
            paused: True for paused schedules only, False for the others only, None for all.
            page: Schedules per request.
            labels: Yield only schedules that have all of these labels.
        """
        query: dict[str, Any] = {"prefix": prefix}
        query["label"] = [f"{key}={value}" for key, value in (labels or {}).items()]
        if paused is not None:
            query["paused"] = str(paused).lower()
        return paged(self, "/v1/schedules", "schedules", query, page=page)

    def create(self, definition: Mapping[str, Any], *, key: str | None = None) -> Schedule:
        """Create a schedule; the service chooses its id. Calls with the same `key` create one schedule."""
        return cast(Schedule, self.request("POST", "/v1/schedules", dict(definition), headers=_idempotent(key)))

    def get(self, schedule_id: str) -> Schedule:
        """Return a schedule."""
        return cast(Schedule, self.request("GET", _path(schedule_id)))

    def apply(self, schedule_id: str, definition: Mapping[str, Any], *, revision: int | None = None) -> Schedule:
        """Create or replace the definition of a schedule.

        Args:
            schedule_id: Id of the schedule.
            definition: Fields of the definition.
            revision: Revision that the stored schedule must have; 0 if it must not exist; None skips the check.
        """
        headers = {"If-None-Match": "*"} if revision == 0 else _if_match(revision)
        return cast(Schedule, self.request("PUT", _path(schedule_id), dict(definition), headers=headers))

    def update(self, schedule_id: str, changes: Mapping[str, Any], *, revision: int | None = None) -> Schedule:
        """Change some fields of a definition; None removes a field.

        If `revision` is given, the stored schedule must have it.
        """
        text = json.dumps(dict(changes))
        return cast(Schedule, json.loads(self._send("PATCH", _path(schedule_id), text, headers=_if_match(revision))))

    def delete(self, schedule_id: str, *, note: str = "", revision: int | None = None) -> None:
        """Delete a schedule. If `revision` is given, the stored schedule must have it."""
        self.request("DELETE", _path(schedule_id), query={"note": note}, headers=_if_match(revision))

    def pause(self, schedule_id: str, *, note: str = "", until: str | None = None) -> Schedule:
        """Pause a schedule until the instant `until` (RFC 3339), or until it is resumed if `until` is None."""
        return cast(Schedule, self.request("POST", _path(schedule_id, "pause"), {"note": note, "until": until}))

    def resume(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Resume a paused schedule."""
        return cast(Schedule, self.request("POST", _path(schedule_id, "resume"), {"note": note}))

    def trigger(self, schedule_id: str, *, key: str | None = None) -> Run:
        """Trigger a run now. Calls with the same `key` create one run."""
        return cast(Run, self.request("POST", _path(schedule_id, "trigger"), headers=_idempotent(key)))

    def backfill(
        self, schedule_id: str, start_at: str, end_at: str, *, key: str | None = None, overlap: str = "queue"
    ) -> list[Run]:
        """Run the periods from `start_at` to `end_at` (RFC 3339) again. Calls with the same `key` create the same runs.

        The runs execute one after another unless `overlap` names another overlap policy.
        """
        body = {"start_at": start_at, "end_at": end_at, "overlap": overlap}
        runs: list[Run] = self.request("POST", _path(schedule_id, "backfill"), body, headers=_idempotent(key))["runs"]
        return runs

    def next(self, schedule_id: str, n: int = 5, until: str | None = None) -> UpcomingRuns:
        """Return up to `n` upcoming runs, up to the instant `until` (RFC 3339) if it is given."""
        return cast(UpcomingRuns, self.request("GET", _path(schedule_id, "next"), query=_upcoming_query(n, until)))

    def preview(
        self, schedule_id: str, definition: Mapping[str, Any], n: int = 5, until: str | None = None
    ) -> UpcomingRuns:
        """Return the runs that a definition would have. Nothing is stored."""
        body = {"id": schedule_id, "definition": dict(definition)}
        query = _upcoming_query(n, until)
        return cast(UpcomingRuns, self.request("POST", "/v1/preview", body, query=query, repeatable=True))

    def runs(self, schedule_id: str, limit: int | None = None, page: int = PAGE) -> Iterator[Run]:
        """Yield the runs of a schedule, newest first, with one request per page: at most `limit`; None yields all."""
        return paged(self, _path(schedule_id, "runs"), "runs", {}, page=page, limit=limit)

    def why(self, schedule_id: str, at: str | None = None, *, run: str | None = None) -> Why:
        """Return the outcome, with its reason, of the last period up to `at` (RFC 3339; None: now).

        A run that was requested exactly at `at` comes before an earlier period. With `run`, the key of a run, the
        report is on that run.
        """
        query = {name: value for name, value in (("at", at), ("run", run)) if value}
        return cast(Why, self.request("GET", _path(schedule_id, "why"), query=query))

    def history(self, schedule_id: str) -> list[Change]:
        """Return all changes of a schedule, oldest first."""
        return cast(list[Change], self.request("GET", _path(schedule_id, "history"))["changes"])


def _path(schedule_id: str, verb: str = "") -> str:
    return f"/v1/schedules/{quote(schedule_id, safe='')}" + (f"/{verb}" if verb else "")


def _if_match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"{revision}"'}


def _idempotent(key: str | None) -> dict[str, str]:
    """Return the header with the key, or with a new one: then a repeated call still has one effect."""
    return {"Idempotency-Key": uuid4().hex if key is None else key}


def _upcoming_query(n: int, until: str | None) -> Json:
    return {"n": n} if until is None else {"n": n, "until": until}
