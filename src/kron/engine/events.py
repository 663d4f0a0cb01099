"""Events: facts about what happened. Log, metrics and tests receive them as sinks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kron.rules.run import Run
from kron.timing.job import Job

log = logging.getLogger("kron.engine.events")
Sink = Callable[["Event"], None]


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, time in milliseconds, and facts.

    Where a period was decided, `job` is the job that decided it. A sink that needs the decision computes it from the
    job.
    """

    name: str
    at: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    job: Job | None = None


def about(name: str, at: int, run: Run, job: Job | None = None, **facts: str | int) -> Event:
    """Return an event about a run."""
    run_facts = {"identity": run.identity, "nominal": run.nominal, "key": run.key, "state": str(run.state)}
    run_facts |= {"due_at": run.due, "attempt": run.attempt}
    outcome = {"outcome": str(run.outcome), "reason": str(run.reason) if run.reason else None} if run.outcome else {}
    trigger = {"trigger": run.trigger} if run.trigger else {}
    return Event(name, at, {**run_facts, **outcome, **trigger, **facts}, job)


def silent(event: Event) -> None:
    """Ignore an event."""


def line(event: Event) -> str:
    """Return an event as one line of JSON, for facts of any type."""
    return json.dumps({"event": event.name, "at": event.at, **event.facts}, default=str, sort_keys=True)


def guarded(sink: Sink, log: logging.Logger = log) -> Sink:
    """Return a sink that never raises.

    The first failure is logged. Further failures are not, until an event of the same name succeeds.
    """
    failed_event = ""  # name of the event on which the sink failed

    def receive(event: Event) -> None:
        nonlocal failed_event
        try:
            sink(event)
        except Exception:
            if not failed_event:
                log.exception("event sink failed on %s; Kron continues", event.name)
            failed_event = failed_event or event.name
        else:
            failed_event = "" if failed_event == event.name else failed_event

    return receive


class Memory:
    """Sink for tests that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        self.events.append(event)

    def named(self, name: str) -> list[Event]:
        """Return the events with this name."""
        return [event for event in self.events if event.name == name]


def all_of(*sinks: Sink) -> Sink:
    """Return one sink that passes events on to several."""

    def receive(event: Event) -> None:
        for sink in sinks:
            sink(event)

    return receive
