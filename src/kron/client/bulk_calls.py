"""Calls of the HTTP API that change many schedules or dead letters at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from uuid import uuid4

from kron.client.overview_results import BulkPlan, BulkResult
from kron.client.transport import Transport

MAX_BULK = 10_000  # schedules or dead letters that one call changes
BATCH_SIZE = 500  # of them in one request


class BulkCalls(Transport):
    """Calls on all schedules or dead letters that match. Each sends one request per 500, at most 10,000 in all.

    The result has the totals. Its `next_page_token` is None, unless more than 10,000 match. A call that failed can be
    repeated: what is done already stays as it is.
    """

    def pause_all(
        self,
        prefix: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        until: str | None = None,
        note: str = "",
        page_token: str = "",
    ) -> BulkResult:
        """Pause the schedules that match, until the instant `until` (RFC 3339), or until they are resumed.

        Args:
            prefix: Beginning of the ids.
            labels: Labels that the schedules have, all of them.
            until: End of the pause.
            note: Reason of the pause.
            page_token: Where to go on, from the result of the call before.
        """
        body = {"filter": _filter(prefix, labels), "until": until, "note": note}
        return self._batches("/v1/schedules:pause", body, page_token)

    def resume_all(
        self, prefix: str = "", *, labels: Mapping[str, str] | None = None, note: str = "", page_token: str = ""
    ) -> BulkResult:
        """Resume the schedules that match. Arguments as in `pause_all`."""
        return self._batches("/v1/schedules:resume", {"filter": _filter(prefix, labels), "note": note}, page_token)

    def trigger_all(
        self,
        prefix: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        key: str | None = None,
        note: str = "",
        page_token: str = "",
    ) -> BulkResult:
        """Run the schedules that match now. Calls with the same `key` create one run of each schedule."""
        headers = {"Idempotency-Key": key or uuid4().hex}
        body = {"filter": _filter(prefix, labels), "note": note}
        return self._batches("/v1/schedules:trigger", body, page_token, headers)

    def redrive_all(
        self, prefix: str = "", *, overlap: str = "queue", note: str = "", page_token: str = ""
    ) -> BulkResult:
        """Run the dead letters of the schedules whose ids start with `prefix` again, each of them once."""
        body = {"filter": {"prefix": prefix}, "overlap": overlap, "note": note}
        return self._batches("/v1/dead-letters:redrive", body, page_token)

    def plan_bulk(
        self, action: str, prefix: str = "", *, labels: Mapping[str, str] | None = None, until: str | None = None
    ) -> BulkPlan:
        """Return how many schedules or dead letters match, and what the action would do to them.

        Args:
            action: `pause`, `resume`, `trigger` or `redrive`.
            prefix: Beginning of the ids.
            labels: Labels that the schedules have; none for `redrive`.
            until: End of a pause (RFC 3339).
        """
        path = "/v1/dead-letters:redrive" if action == "redrive" else f"/v1/schedules:{action}"
        body = {"filter": {"prefix": prefix} if action == "redrive" else _filter(prefix, labels)}
        pause = {"until": until} if action == "pause" else {}
        query = {"dry_run": "true"}
        return cast(BulkPlan, self.request("POST", path, {**body, **pause}, query=query, repeatable=True))

    def _batches(
        self, path: str, body: dict[str, Any], page_token: str, headers: Mapping[str, str] | None = None
    ) -> BulkResult:
        """Send one batch after another, and return the totals."""
        totals = BulkResult(done=0, unchanged=0, problems=[], next_page_token=page_token)
        for _ in range(MAX_BULK // BATCH_SIZE):
            token = totals["next_page_token"] or ""
            batch = self.request("POST", path, {**body, "page_token": token}, headers=headers, repeatable=True)
            totals["done"] += batch["done"]
            totals["unchanged"] += batch["unchanged"]
            totals["problems"] += batch["problems"]
            totals["next_page_token"] = batch["next_page_token"]
            if totals["next_page_token"] is None:
                break
        return totals


def _filter(prefix: str, labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {"prefix": prefix, "labels": [f"{key}={value}" for key, value in (labels or {}).items()]}
