"""Events of KronJobs, as `kubectl describe` shows them. The same event again is told at most every few minutes."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, Protocol
from uuid import uuid4

from kron.apps.operator.identities import Identities
from kron.apps.operator.kronjob import KronJob
from kron.engine.events import Event
from kron.kube.api import Api
from kron.kube.failure import NoAnswer, Refusal
from kron.kube.kind import EVENT, KRONJOB, Body, Place
from kron.rules.outcome import REASON_TEXT, Reason
from kron.timing.zone import rfc3339

NORMAL, WARNING = "Normal", "Warning"
CONTROLLER = "kron.io/operator"
QUIET_SECONDS = 360.0  # after an event, in which the same one is only counted
MAX_NOTE_BYTES = 1_000  # the API server accepts 1,024
MAX_WAITING = 1_000  # events that wait to be sent; further ones are dropped
log = logging.getLogger("kron.operator")


class Tell(Protocol):
    """Teller of events."""

    def __call__(self, kronjob: KronJob, kind: str, reason: str, note: str) -> None:
        """Tell an event about a KronJob. `kind` is `Normal` or `Warning`."""

    def vanished(self, count: int, seconds: float) -> None:
        """Tell that many KronJobs vanished at once, and that their schedules are deleted after some seconds."""


class _Series(NamedTuple):
    """Events of one KronJob with one reason: how many were not sent since the last one, and its end."""

    until: float
    more: int


class EventTeller:
    """Writer of events.

    Args:
        api: The API server.
        identities: Identities of the KronJobs.
        find: Returns a KronJob of the cluster.
        level: `changes`: events that can need attention; `all`: also each Job; `none`.
        quiet: Seconds in which the same event is only counted.
    """

    def __init__(
        self,
        api: Api,
        identities: Identities,
        find: Callable[[Place], KronJob | None],
        *,
        level: str = "changes",
        quiet: float = QUIET_SECONDS,
    ) -> None:
        self.api, self.identities, self.find, self.level, self.quiet = api, identities, find, level, quiet
        self._series: dict[tuple[str, str], _Series] = {}
        self._waiting: asyncio.Queue[tuple[str, Body]] = asyncio.Queue(MAX_WAITING)
        self._dropped = 0  # events since the last report of dropped ones
        self._instance = socket.gethostname()[:128] or "kron"

    def __call__(self, kronjob: KronJob, kind: str, reason: str, note: str) -> None:
        """Tell an event about a KronJob."""
        if self.level == "none" or not self.identities.is_mine(self.identities.of(kronjob.place)):
            return
        now, name = asyncio.get_running_loop().time(), (kronjob.uid, reason)
        series = self._series.get(name)
        if series is not None and series.until > now:
            self._series[name] = series._replace(more=series.more + 1)
            return
        if len(self._series) > 10 * MAX_WAITING:
            self._series = {each: entry for each, entry in self._series.items() if entry.until > now}
        self._series[name] = _Series(now + self.quiet, 0)
        body = self._body(kronjob, kind, reason, note, series.more if series else 0)
        try:
            self._waiting.put_nowait((kronjob.place.namespace, body))
        except asyncio.QueueFull:
            if not self._dropped:
                log.warning("event %s of %s/%s dropped: %d wait", reason, *kronjob.place, MAX_WAITING)
            self._dropped += 1

    def vanished(self, count: int, seconds: float) -> None:
        """Tell that many KronJobs vanished at once. There is no object that an event could be about."""
        log.error("%d KronJobs vanished at once; their schedules are deleted in %.0f s", count, seconds)

    def name_taken(self, place: Place, job_name: str) -> None:
        """Tell that another Job has the name that a run needs."""
        kronjob = self.find(place)
        if kronjob is not None:
            self(kronjob, WARNING, "NameTaken", f"Job {job_name} is not of this run; the run is not started.")

    def receive(self, event: Event) -> None:
        """Tell an event of the worker."""
        text = _text_of(event, all_events=self.level == "all")
        place = self.identities.place(str(event.facts.get("identity", ""))) if text else None
        kronjob = self.find(place) if place else None
        if text is not None and kronjob is not None:
            self(kronjob, *text)

    async def run(self) -> None:
        """Send events until canceled. An event that cannot be sent is dropped."""
        while True:
            namespace, body = await self._waiting.get()
            if self._dropped and self._waiting.empty():
                log.warning("%d events were dropped in all", self._dropped)
                self._dropped = 0
            try:
                await self.api.create(EVENT, namespace, body)
            except (Refusal, NoAnswer) as failure:
                log.info("event %s not sent: %s", body["reason"], failure)

    def _body(self, kronjob: KronJob, kind: str, reason: str, note: str, more: int) -> Body:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        series = {"series": {"count": more + 1, "lastObservedTime": now}} if more else {}
        regarding = {
            "apiVersion": KRONJOB.api_version,
            "kind": KRONJOB.name,
            "namespace": kronjob.place.namespace,
            "name": kronjob.place.name,
            "uid": kronjob.uid,
        }
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"name": f"{kronjob.place.name}.{uuid4().hex[:16]}", "namespace": kronjob.place.namespace},
            "eventTime": now,
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": "Scheduling",
            "reason": reason,
            "regarding": regarding,
            "type": kind,
            "note": note.encode("utf-8", "replace")[:MAX_NOTE_BYTES].decode("utf-8", "ignore"),
            **series,
        }


def _text_of(event: Event, *, all_events: bool) -> tuple[str, str, str] | None:
    """Return type, reason and note of a worker's event; None if it is not told."""
    facts = event.facts
    if event.name == "gap_recorded":
        first, last = rfc3339(facts["first"]), rfc3339(facts["last"])
        periods = f"{facts['count']} periods, {first} to {last}"
        return _not_as_usual(str(facts["outcome"]), str(facts["reason"]), periods)
    if event.name not in ("run_finished", "launch_completed"):
        return None
    outcome, state, period = facts.get("outcome"), str(facts["state"]), f"Period {rfc3339(facts['nominal'])}"
    if outcome in ("skipped", "missed", "unschedulable") or facts.get("reason") == Reason.REPLACED:
        return _not_as_usual(str(outcome), str(facts.get("reason")), period)
    if state in ("failed", "lost", "unknown"):
        return WARNING, f"Job{state.capitalize()}", f"{period}: the Job is {state}."
    if all_events and state == "success":
        return NORMAL, "JobSucceeded", f"{period}: the Job succeeded."
    is_created = event.name == "launch_completed" and facts.get("result") == "ok"
    return (NORMAL, "JobCreated", f"{period}: the Job was created.") if is_created and all_events else None


def _not_as_usual(outcome: str, reason: str, periods: str) -> tuple[str, str, str]:
    text = REASON_TEXT[Reason(reason)] if reason in set(Reason) else ""
    is_replaced = reason == Reason.REPLACED
    name = "Replaced" if is_replaced else outcome.capitalize()
    kind = NORMAL if is_replaced or outcome == "skipped" else WARNING
    return kind, name, f"{periods}: {outcome} ({reason}). {text}".strip()
