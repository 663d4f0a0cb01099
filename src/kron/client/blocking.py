"""Blocking HTTP API client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from kron.client.results import Json, Run, Schedule, UpcomingRuns
from kron.client.run_calls import RunCalls


class Client(RunCalls):
    """Blocking client of one service. Threads can share it: each call opens its own connection.

    If the service rejects a call, the method raises the error that the service raised, such as `NotFound` or
    `RevisionConflict`. It raises `LanguageError` if the error has a position in a schedule text, and `Unavailable` if
    the service does not answer.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
    """

    def schedules(
        self, prefix: str = "", paused: bool | None = None, page: int = 100, *, labels: Mapping[str, str] | None = None
    ) -> Iterator[Schedule]:
        """Yield the schedules in the order of their ids, with one request per page.

        Args:
            prefix: Yield only ids that start with this text.
            paused: True for paused schedules only, False for the others only, None for all.
            page: Schedules per request.
            labels: Yield only schedules that have all of these labels.
        """
        selectors = [f"{key}={value}" for key, value in (labels or {}).items()]
        token: str | None = ""
        while token is not None:
            query: dict[str, Any] = {"prefix": prefix, "limit": page, "page_token": token, "label": selectors}
            if paused is not None:
                query["paused"] = str(paused).lower()
            response = self.request("GET", "/v1/schedules", query=query)
            yield from response["schedules"]
            token = response["next_page_token"]

    def get(self, schedule_id: str) -> Schedule:
        """Return a schedule."""
        return self.request("GET", _path(schedule_id))  # type: ignore[return-value]

    def apply(self, schedule_id: str, definition: Mapping[str, Any], *, revision: int | None = None) -> Schedule:
        """Create or replace the definition of a schedule.

        Args:
            schedule_id: Id of the schedule.
            definition: Fields of the definition.
            revision: Revision that the stored schedule must have; 0 if it must not exist; None skips the check.
        """
        headers = {"If-None-Match": "*"} if revision == 0 else _if_match(revision)
        return self.request("PUT", _path(schedule_id), dict(definition), headers=headers)  # type: ignore[return-value]

    def delete(self, schedule_id: str, *, note: str = "", revision: int | None = None) -> None:
        """Delete a schedule. If `revision` is given, the stored schedule must have it."""
        self.request("DELETE", _path(schedule_id), query={"note": note}, headers=_if_match(revision))

    def pause(self, schedule_id: str, *, note: str = "", until: str | None = None) -> Schedule:
        """Pause a schedule until the instant `until` (RFC 3339), or until it is resumed if `until` is None."""
        return self.request("POST", _path(schedule_id, "pause"), {"note": note, "until": until})  # type: ignore[return-value]

    def resume(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Resume a paused schedule."""
        return self.request("POST", _path(schedule_id, "resume"), {"note": note})  # type: ignore[return-value]

    def trigger(self, schedule_id: str, *, key: str | None = None) -> Run:
        """Trigger a run now. Calls with the same `key` create one run."""
        return self.request("POST", _path(schedule_id, "trigger"), headers=_idempotent(key))  # type: ignore[return-value]

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
        return self.request("GET", _path(schedule_id, "next"), query=_upcoming_query(n, until))  # type: ignore[return-value]

    def preview(
        self, schedule_id: str, definition: Mapping[str, Any], n: int = 5, until: str | None = None
    ) -> UpcomingRuns:
        """Return the runs that a definition would have. Nothing is stored."""
        body = {"id": schedule_id, "definition": dict(definition)}
        return self.request("POST", "/v1/preview", body, query=_upcoming_query(n, until))  # type: ignore[return-value]

    def runs(self, schedule_id: str, limit: int = 20) -> list[Run]:
        """Return the last runs of a schedule, newest first."""
        runs: list[Run] = self.request("GET", _path(schedule_id, "runs"), query={"limit": limit})["runs"]
        return runs

    def why(self, schedule_id: str, at: str | None = None) -> Json:
        """Return the outcome, with its reason, of the last period up to `at` (RFC 3339; None: now)."""
        return self.request("GET", _path(schedule_id, "why"), query={"at": at} if at else {})


def _path(schedule_id: str, verb: str = "") -> str:
    return f"/v1/schedules/{quote(schedule_id, safe='')}" + (f"/{verb}" if verb else "")


def _if_match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"{revision}"'}


def _idempotent(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def _upcoming_query(n: int, until: str | None) -> Json:
    return {"n": n} if until is None else {"n": n, "until": until}
