"""HTTP API clients: `Client` (blocking) and `AsyncClient`. Error responses are raised with the service's error code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, TypedDict
from urllib.parse import quote, urlencode, urlsplit

from kron.errors import KronError, LanguageError, Place

Json = dict[str, Any]


class Schedule(TypedDict):
    """A schedule with its current state."""

    id: str
    revision: int
    schedule: str
    dialect: str
    timezone: str
    summary: str
    target: str | None
    workflow_id: str | None
    version: int | None
    user_id: str | None
    description: str
    start_at: str | None
    end_at: str | None
    jitter_ms: int
    overlap_policy: str
    catchup_policy: str
    completion: str
    deadline_ms: int | None
    paused: bool
    paused_until: str | None
    next_run_at: str | None
    warnings: list[str]


class UpcomingRun(TypedDict):
    """An upcoming run: its period and the instant at which it is due."""

    period: str
    at: str


class UpcomingRuns(TypedDict):
    """Upcoming runs. `has_more` is true if there are more runs than requested."""

    runs: list[UpcomingRun]
    has_more: bool
    summary: str
    warnings: list[str]
    reason: str | None


class Run(TypedDict):
    """A run, as the ledger records it."""

    key: str
    schedule_id: str
    period: str
    due: str
    state: str
    outcome: str | None
    reason: str | None
    trigger: str | None
    revision: int
    attempt: int
    run_id: str | None
    created_at: str
    updated_at: str


class DeadLetter(Run):
    """A dead letter: a run that could not be launched. `redriven_by` is the key of its redrive, None without one."""

    redriven_by: str | None


class Client:
    """Blocking client of one service. Threads can share it: each call opens its own connection.

    Every method raises `KronError` with the service's error code if the service rejects the call; `LanguageError` if
    the error has a position in a schedule text; and `KronError` (UNREACHABLE) if the service does not answer.

    Args:
        url: Base URL of the service, such as `https://kron.example.org`.
        token: Bearer token; empty sends none.
        timeout: Seconds to wait for a connection and for each read.
    """

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise KronError("USAGE", f"invalid service URL {url!r}", hint="use a URL such as https://kron.example.org")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.path, self.timeout, self._token = parts.path.rstrip("/"), timeout, token

    def schedules(self, prefix: str = "", paused: bool | None = None, page: int = 100) -> Iterator[Schedule]:
        """Yield the schedules in the order of their ids, with one request per page.

        Args:
            prefix: Yield only ids that start with this text.
            paused: True for paused schedules only, False for the others only, None for all.
            page: Schedules per request.
        """
        token: str | None = ""
        while token is not None:
            query: dict[str, Any] = {"prefix": prefix, "limit": page, "page_token": token}
            if paused is not None:
                query["paused"] = str(paused).lower()
            found = self.request("GET", "/v1/schedules", query=query)
            yield from found["schedules"]
            token = found["next_page_token"]

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
        found: list[Run] = self.request("POST", _path(schedule_id, "backfill"), body, headers=_idempotent(key))["runs"]
        return found

    def next(self, schedule_id: str, n: int = 5, until: str | None = None) -> UpcomingRuns:
        """Return up to `n` upcoming runs, up to the instant `until` (RFC 3339) if it is given."""
        return self.request("GET", _path(schedule_id, "next"), query=_asked(n, until))  # type: ignore[return-value]

    def preview(
        self, schedule_id: str, definition: Mapping[str, Any], n: int = 5, until: str | None = None
    ) -> UpcomingRuns:
        """Return the runs that a definition would have. Nothing is stored."""
        body = {"id": schedule_id, "definition": dict(definition)}
        return self.request("POST", "/v1/preview", body, query=_asked(n, until))  # type: ignore[return-value]

    def runs(self, schedule_id: str, limit: int = 20) -> list[Run]:
        """Return the last runs of a schedule, newest first."""
        found: list[Run] = self.request("GET", _path(schedule_id, "runs"), query={"limit": limit})["runs"]
        return found

    def dead_letters(self, prefix: str = "", limit: int = 20) -> list[DeadLetter]:
        """Return the dead letters of the schedules whose ids start with `prefix`, newest first."""
        found: list[DeadLetter] = self.request("GET", "/v1/dead-letters", query={"prefix": prefix, "limit": limit})[
            "runs"
        ]
        return found

    def redrive(self, key: str, *, overlap: str = "queue") -> Run:
        """Run the period of a dead letter again. Calls with the same `key` create one run."""
        path = f"/v1/runs/{quote(key, safe='')}/redrive"
        return self.request("POST", path, query={"overlap": overlap})  # type: ignore[return-value]

    def why(self, schedule_id: str, at: str | None = None) -> Json:
        """Return the outcome, with its reason, of the last period up to `at` (RFC 3339; None: now)."""
        return self.request("GET", _path(schedule_id, "why"), query={"at": at} if at else {})

    def report(self, key: str, status: str, attempt: int | None = None) -> bool:
        """Report the status of a run. Returns False if the service ignored the report.

        Args:
            key: Idempotency key of the run.
            status: Status to report, such as `success`.
            attempt: Attempt that the report is about; None reports about the run.
        """
        body = {"status": status, "attempt": attempt}
        return bool(self.request("POST", f"/v1/runs/{quote(key, safe='')}/report", body)["accepted"])

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Send any request to the HTTP API and return the JSON object of the response.

        Fields of `body` that are None are left out.

        Raises:
            LanguageError: The service rejected a schedule text; the error has the position.
            KronError: The service rejected the request (its code), or did not answer (UNREACHABLE).
        """
        where = self.path + path + (f"?{urlencode(query)}" if query else "")
        text = None if body is None else json.dumps({k: v for k, v in body.items() if v is not None})
        sent = {"Accept": "application/json", **(headers or {})}
        sent |= {"Content-Type": "application/json"} if text is not None else {}
        sent |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        kind = HTTPSConnection if self.secure else HTTPConnection
        connection = kind(self.host, self.port, timeout=self.timeout)
        try:
            connection.request(method, where, text, sent)
            answer = connection.getresponse()
            return _read(answer.status, answer.read())
        except (OSError, HTTPException) as error:
            message = f"the service at {self.host} does not answer: {error}"
            raise KronError("UNREACHABLE", message, hint="check the URL and that the service is running") from None
        finally:
            connection.close()


class AsyncClient:
    """Client for asyncio: each call runs `Client` in a thread. Arguments and errors are those of `Client`."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        self.plain = Client(url, token, timeout=timeout)

    async def schedules(self, prefix: str = "", paused: bool | None = None) -> list[Schedule]:
        """Return the schedules in the order of their ids."""
        return await asyncio.to_thread(lambda: list(self.plain.schedules(prefix, paused)))

    async def get(self, schedule_id: str) -> Schedule:
        """Return a schedule."""
        return await asyncio.to_thread(self.plain.get, schedule_id)

    async def apply(self, schedule_id: str, definition: Mapping[str, Any], *, revision: int | None = None) -> Schedule:
        """Create or replace the definition of a schedule."""
        return await asyncio.to_thread(self.plain.apply, schedule_id, definition, revision=revision)

    async def delete(self, schedule_id: str, *, note: str = "") -> None:
        """Delete a schedule."""
        await asyncio.to_thread(self.plain.delete, schedule_id, note=note)

    async def pause(self, schedule_id: str, *, note: str = "", until: str | None = None) -> Schedule:
        """Pause a schedule until the instant `until` (RFC 3339), or until it is resumed if `until` is None."""
        return await asyncio.to_thread(self.plain.pause, schedule_id, note=note, until=until)

    async def resume(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Resume a paused schedule."""
        return await asyncio.to_thread(self.plain.resume, schedule_id, note=note)

    async def trigger(self, schedule_id: str, *, key: str | None = None) -> Run:
        """Trigger a run now. Calls with the same `key` create one run."""
        return await asyncio.to_thread(self.plain.trigger, schedule_id, key=key)

    async def next(self, schedule_id: str, n: int = 5) -> UpcomingRuns:
        """Return up to `n` upcoming runs."""
        return await asyncio.to_thread(self.plain.next, schedule_id, n)

    async def runs(self, schedule_id: str, limit: int = 20) -> list[Run]:
        """Return the last runs of a schedule, newest first."""
        return await asyncio.to_thread(self.plain.runs, schedule_id, limit)

    async def dead_letters(self, prefix: str = "", limit: int = 20) -> list[DeadLetter]:
        """Return the dead letters of the schedules whose ids start with `prefix`, newest first."""
        return await asyncio.to_thread(self.plain.dead_letters, prefix, limit)

    async def redrive(self, key: str) -> Run:
        """Run the period of a dead letter again. Calls with the same `key` create one run."""
        return await asyncio.to_thread(self.plain.redrive, key)

    async def report(self, key: str, status: str, attempt: int | None = None) -> bool:
        """Report the status of a run. Returns False if the service ignored the report."""
        return await asyncio.to_thread(self.plain.report, key, status, attempt)


def _path(schedule_id: str, verb: str = "") -> str:
    return f"/v1/schedules/{quote(schedule_id, safe='')}" + (f"/{verb}" if verb else "")


def _if_match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"{revision}"'}


def _idempotent(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def _asked(n: int, until: str | None) -> Json:
    return {"n": n} if until is None else {"n": n, "until": until}


def _read(status: int, body: bytes) -> Json:
    try:
        said = json.loads(body) if body else {}
    except ValueError:
        said = {"detail": f"HTTP status {status} with a body that is not valid JSON"}
    if status < 400:
        return said if isinstance(said, dict) else {}
    code, detail, hint = (
        said.get("code", "HTTP"),
        said.get("detail", said.get("title", str(status))),
        said.get("hint", ""),
    )
    if "span" in said:
        start, end = said["span"]
        place = Place(said["text"], start, end, said.get("field", ""))
        raise LanguageError(code, detail, place, hint=hint)
    raise KronError(code, detail, hint=hint, details={"status": status})
