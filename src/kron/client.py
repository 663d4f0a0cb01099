"""A client of the service: plain and for asyncio. What the service refuses is raised as the error that it is."""

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
    """A schedule as it stands."""

    id: str
    revision: int
    schedule: str
    dialect: str
    timezone: str
    in_words: str
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


class Fire(TypedDict):
    """A run to come."""

    period: str
    at: str


class Fires(TypedDict):
    """The runs to come; `more` if there are more than were asked for."""

    fires: list[Fire]
    more: bool
    in_words: str
    warnings: list[str]
    reason: str | None


class Run(TypedDict):
    """A run."""

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


class Dead(Run):
    """A run that could not be started; and the key of the run that was driven in its place, if one was."""

    redriven_by: str | None


class Client:
    """Speaks to one service. Safe to share: each call has a connection of its own."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise KronError("USAGE", f"{url!r} is no URL of a service", hint="write https://kron.example.org")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.path, self.timeout, self._token = parts.path.rstrip("/"), timeout, token

    def schedules(self, prefix: str = "", paused: bool | None = None, page: int = 100) -> Iterator[Schedule]:
        """The schedules in the order of their ids, page after page."""
        token: str | None = ""
        while token is not None:
            query: dict[str, Any] = {"prefix": prefix, "limit": page, "page_token": token}
            if paused is not None:
                query["paused"] = str(paused).lower()
            found = self.call("GET", "/v1/schedules", query=query)
            yield from found["schedules"]
            token = found["next_page_token"]

    def get(self, schedule_id: str) -> Schedule:
        """A schedule."""
        return self.call("GET", _path(schedule_id))  # type: ignore[return-value]

    def apply(self, schedule_id: str, definition: Mapping[str, Any], *, revision: int | None = None) -> Schedule:
        """Define a schedule, or define it anew; only at that revision, 0 for none, if one is given."""
        headers = {"If-None-Match": "*"} if revision == 0 else _if_match(revision)
        return self.call("PUT", _path(schedule_id), dict(definition), headers=headers)  # type: ignore[return-value]

    def delete(self, schedule_id: str, *, note: str = "", revision: int | None = None) -> None:
        """Delete a schedule."""
        self.call("DELETE", _path(schedule_id), query={"note": note}, headers=_if_match(revision))

    def pause(self, schedule_id: str, *, note: str = "", until: str | None = None) -> Schedule:
        """Pause a schedule."""
        return self.call("POST", _path(schedule_id, "pause"), {"note": note, "until": until})  # type: ignore[return-value]

    def resume(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Let a schedule go on."""
        return self.call("POST", _path(schedule_id, "resume"), {"note": note})  # type: ignore[return-value]

    def trigger(self, schedule_id: str, *, key: str | None = None) -> Run:
        """Run it now; the same key is the same run."""
        return self.call("POST", _path(schedule_id, "trigger"), headers=_idempotent(key))  # type: ignore[return-value]

    def backfill(
        self, schedule_id: str, first: str, last: str, *, key: str | None = None, overlap: str = "queue"
    ) -> list[Run]:
        """Run a range of periods again, one after another unless `overlap` says otherwise."""
        body = {"first": first, "last": last, "overlap": overlap}
        found: list[Run] = self.call("POST", _path(schedule_id, "backfill"), body, headers=_idempotent(key))["runs"]
        return found

    def next(self, schedule_id: str, n: int = 5, until: str | None = None) -> Fires:
        """The next runs."""
        return self.call("GET", _path(schedule_id, "next"), query=_asked(n, until))  # type: ignore[return-value]

    def preview(self, schedule_id: str, definition: Mapping[str, Any], n: int = 5, until: str | None = None) -> Fires:
        """When a definition would run. Nothing is stored."""
        body = {"id": schedule_id, "definition": dict(definition)}
        return self.call("POST", "/v1/preview", body, query=_asked(n, until))  # type: ignore[return-value]

    def runs(self, schedule_id: str, limit: int = 20) -> list[Run]:
        """The last runs, newest first."""
        found: list[Run] = self.call("GET", _path(schedule_id, "runs"), query={"limit": limit})["runs"]
        return found

    def dead(self, prefix: str = "", limit: int = 20) -> list[Dead]:
        """The runs that could not be started, the last that was given up first."""
        found: list[Dead] = self.call("GET", "/v1/dead-letters", query={"prefix": prefix, "limit": limit})["runs"]
        return found

    def redrive(self, key: str, *, overlap: str = "queue") -> Run:
        """Run the period of a dead letter once more; the same key is the same run."""
        path = f"/v1/runs/{quote(key, safe='')}/redrive"
        return self.call("POST", path, query={"overlap": overlap})  # type: ignore[return-value]

    def why(self, schedule_id: str, at: str | None = None) -> Json:
        """What became of the last period up to an instant, and why."""
        return self.call("GET", _path(schedule_id, "why"), query={"at": at} if at else {})

    def report(self, key: str, status: str, attempt: int | None = None) -> bool:
        """Say what became of a run; whether it counts."""
        body = {"status": status, "attempt": attempt}
        return bool(self.call("POST", f"/v1/runs/{quote(key, safe='')}/report", body)["counted"])

    def call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Any call. The answer's JSON; what is refused is raised."""
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
            raise KronError("UNREACHABLE", message, hint="see that it runs, and that the URL is right") from None
        finally:
            connection.close()


class AsyncClient:
    """The same for asyncio; calls wait in threads."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0) -> None:
        self.plain = Client(url, token, timeout=timeout)

    async def schedules(self, prefix: str = "", paused: bool | None = None) -> list[Schedule]:
        """The schedules in the order of their ids."""
        return await asyncio.to_thread(lambda: list(self.plain.schedules(prefix, paused)))

    async def get(self, schedule_id: str) -> Schedule:
        """A schedule."""
        return await asyncio.to_thread(self.plain.get, schedule_id)

    async def apply(self, schedule_id: str, definition: Mapping[str, Any], *, revision: int | None = None) -> Schedule:
        """Define a schedule, or define it anew."""
        return await asyncio.to_thread(self.plain.apply, schedule_id, definition, revision=revision)

    async def delete(self, schedule_id: str, *, note: str = "") -> None:
        """Delete a schedule."""
        await asyncio.to_thread(self.plain.delete, schedule_id, note=note)

    async def pause(self, schedule_id: str, *, note: str = "", until: str | None = None) -> Schedule:
        """Pause a schedule."""
        return await asyncio.to_thread(self.plain.pause, schedule_id, note=note, until=until)

    async def resume(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Let a schedule go on."""
        return await asyncio.to_thread(self.plain.resume, schedule_id, note=note)

    async def trigger(self, schedule_id: str, *, key: str | None = None) -> Run:
        """Run it now."""
        return await asyncio.to_thread(self.plain.trigger, schedule_id, key=key)

    async def next(self, schedule_id: str, n: int = 5) -> Fires:
        """The next runs."""
        return await asyncio.to_thread(self.plain.next, schedule_id, n)

    async def runs(self, schedule_id: str, limit: int = 20) -> list[Run]:
        """The last runs, newest first."""
        return await asyncio.to_thread(self.plain.runs, schedule_id, limit)

    async def dead(self, prefix: str = "", limit: int = 20) -> list[Dead]:
        """The runs that could not be started, the last that was given up first."""
        return await asyncio.to_thread(self.plain.dead, prefix, limit)

    async def redrive(self, key: str) -> Run:
        """Run the period of a dead letter once more."""
        return await asyncio.to_thread(self.plain.redrive, key)

    async def report(self, key: str, status: str, attempt: int | None = None) -> bool:
        """Say what became of a run."""
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
        said = {"detail": f"it answers {status}, and no JSON"}
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
