"""Run event: what a handler of an application receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal

from kron.apps.embedded.current_run import local_time
from kron.engine.events import Event

RunEventKind = Literal["started", "succeeded", "failed", "missed", "skipped"]
_ENDS_OF_ATTEMPTS = frozenset({"duration_ms", "timeout_ms"})  # facts of an attempt that failed or exceeded its limit
_NOT_RUN: Mapping[str, RunEventKind] = {"skipped": "skipped", "missed": "missed", "unschedulable": "missed"}
_ENDINGS: Mapping[str, RunEventKind] = {
    "success": "succeeded",
    **dict.fromkeys(("failed", "lost", "unknown", "cancelled"), "failed"),
}


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Event about a run, or about several periods with the same outcome. Times are in the time zone of the job.

    Attributes:
        kind: `started`, `succeeded`, `failed`, `missed` or `skipped`.
        job: Name of the job.
        period: Nominal time of the period; of the first one, if `count` is greater than 1.
        at: Time of the event.
        key: Idempotency key of the run; empty if `count` is greater than 1.
        attempt: Number of the attempt, from 1; 0 if the run was never launched.
        state: State of the run, such as `success`, `failed`, `lost`, or `waiting` for a retry.
        reason: Cause, such as `overlap`, `deadline` or `failed`; None if there is none.
        duration: Seconds for which the function ran; None if it did not run in this process.
        error: Exception that the function raised; None if it raised none in this process.
        will_retry: Whether Kron will run the function again.
        count: Number of periods: greater than 1 for a downtime in which many were missed.
    """

    kind: RunEventKind
    job: str
    period: datetime
    at: datetime
    key: str = ""
    attempt: int = 0
    state: str = ""
    reason: str | None = None
    duration: float | None = None
    error: BaseException | None = None
    will_retry: bool = False
    count: int = 1


def run_event_of(event: Event, zone: tzinfo) -> RunEvent | None:
    """Return the run event of an engine event; None if it is about something else."""
    facts, kind = event.facts, _kind_of(event)
    if kind is None:
        return None
    duration = facts.get("duration_ms")
    return RunEvent(
        kind=kind,
        job=facts["identity"],
        period=local_time(facts.get("nominal", facts.get("first")) * 1000, zone),
        at=local_time(event.at, zone),
        key=facts.get("key", ""),
        attempt=facts.get("attempt", 0),
        state=facts.get("state", facts.get("outcome", "")),
        reason=facts.get("reason"),
        duration=None if duration is None else duration / 1000,
        error=facts.get("exception"),
        will_retry=facts.get("state") == "waiting",
        count=facts.get("count", 1),
    )


def _kind_of(event: Event) -> RunEventKind | None:
    facts: Mapping[str, Any] = event.facts
    if event.name == "run_started":
        return "started"
    if event.name == "gap_recorded":
        return _NOT_RUN.get(facts["outcome"])
    if event.name == "run_recorded" and facts["state"] == "waiting" and _ENDS_OF_ATTEMPTS & facts.keys():
        return "failed"  # this attempt: the function will run again
    if event.name not in ("run_finished", "launch_completed"):
        return None
    return _NOT_RUN.get(facts.get("outcome", "")) or _ENDINGS.get(facts["state"])
