"""Calls of the HTTP API that are about many schedules or about the service itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast
from urllib.parse import quote

from kron.client.results import Json, Upserted
from kron.client.transport import Transport

BULK_LINES = 500  # definitions per request


class ServiceCalls(Transport):
    """Calls about many schedules: define them in bulk, export them, follow their events."""

    def bulk(self, definitions: Iterable[Mapping[str, Any]]) -> Iterator[Json]:
        """Create or replace many schedules, with one request per 500 definitions. Yields an answer for each, in order.

        An answer has the `status` of its definition, and either its `id` and `revision`, or its `problem`.

        Args:
            definitions: Fields of each definition, and its `id`.
        """
        remaining, headers = iter(definitions), {"Content-Type": "application/x-ndjson"}
        before = 0
        while batch := list(islice(remaining, BULK_LINES)):
            lines = "".join(json.dumps(dict(definition)) + "\n" for definition in batch)
            answers = self._send("POST", "/v1/schedules:bulk", lines, headers=headers, repeatable=True)
            for answer in answers.splitlines():
                result = json.loads(answer)
                yield {**result, "line": result["line"] + before}
            before += len(batch)

    def events(self, seconds: int = 300, *, last_event_id: str = "") -> Iterator[Json]:
        """Yield events of runs while they happen, for up to `seconds`. Each has its `id`, `event` name and `data`.

        Args:
            seconds: Duration of the stream. Call again with the id of the last event to continue.
            last_event_id: Yield only later events than this one.
        """
        fields = dict[str, str]()
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
        for line in self._stream("/v1/events", query={"seconds": seconds}, headers=headers):
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            if name:
                fields[name] = value
            elif "data" in fields:
                yield {"id": fields.get("id", ""), "event": fields.get("event", ""), "data": json.loads(fields["data"])}
                fields = {}

    def calendar(self, prefix: str = "") -> str:
        """Return the upcoming runs of the schedules whose ids start with `prefix`, as an iCalendar file."""
        headers = {"Accept": "text/calendar"}
        return self._send("GET", "/v1/calendar.ics", query={"prefix": prefix}, headers=headers).decode()

    def webhook_secrets(self) -> list[str]:
        """Return the secrets that sign the webhooks of the caller, newest first."""
        return cast(list[str], self.request("GET", "/v1/webhook-secrets")["secrets"])

    def deploy(self, workflow_id: str, version: int, user_id: str, dag: Mapping[str, Any]) -> list[Upserted]:
        """Deploy a version of a workflow: each trigger of type `schedule_based` becomes a schedule."""
        path = f"/v1/workflows/{quote(workflow_id, safe='')}/{version}"
        return cast(list[Upserted], self.request("PUT", path, {"user_id": user_id, "dag": dict(dag)})["schedules"])
