"""Calls of the HTTP API that are about runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from urllib.parse import quote

from kron.client.pages import PAGE, paged
from kron.client.results import DeadLetter, Run, RunDetails
from kron.client.transport import Transport


class RunCalls(Transport):
    """Calls about runs: read, report and redrive them."""

    def run(self, key: str) -> RunDetails:
        """Return a run by its idempotency key, with its recorded attempts."""
        return cast(RunDetails, self.request("GET", _run_path(key)))

    def dead_letters(self, prefix: str = "", limit: int | None = None, page: int = PAGE) -> Iterator[DeadLetter]:
        """Yield the dead letters of the schedules whose ids start with `prefix`, newest first: at most `limit`."""
        return paged(self, "/v1/dead-letters", "runs", {"prefix": prefix}, page=page, limit=limit)

    def redrive(self, key: str, *, overlap: str = "queue") -> Run:
        """Run the period of a dead letter again. Calls with the same `key` create one run."""
        path = _run_path(key, "redrive")
        return cast(Run, self.request("POST", path, query={"overlap": overlap}, repeatable=True))

    def report(self, key: str, status: str, attempt: int | None = None, *, error: str = "") -> bool:
        """Report the status of a run. Returns False if the service ignored the report.

        Args:
            key: Idempotency key of the run.
            status: Status to report, such as `success`.
            attempt: Attempt that the report is about; None reports about the run.
            error: Why the run failed, at most 2,000 characters. The service keeps 200 of them with the attempt.
        """
        body = {"status": status, "attempt": attempt, **({"error": error} if error else {})}
        return bool(self.request("POST", _run_path(key, "report"), body)["accepted"])


def _run_path(key: str, verb: str = "") -> str:
    return f"/v1/runs/{quote(key, safe='')}" + (f"/{verb}" if verb else "")
