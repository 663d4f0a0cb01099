"""Events: facts, stated once. Log lines, metrics and tests are sinks that hear them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kron.core.job import Job
from kron.core.run import Run

log = logging.getLogger("kron.events")
Sink = Callable[["Event"], None]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its name, when (milliseconds), and the facts of it.

    Where a period was decided, the job says by what: who wants to know how, works it out.
    """

    name: str
    at: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    job: Job | None = None


def about(name: str, at: int, run: Run, job: Job | None = None, **facts: str | int) -> Event:
    """What happened to a run."""
    known = {"identity": run.identity, "nominal": run.nominal, "key": run.key, "state": str(run.state), "due": run.due}
    verdict = {"verdict": str(run.verdict), "reason": str(run.reason) if run.reason else None} if run.verdict else {}
    asked = {"trigger": run.trigger} if run.trigger else {}
    return Event(name, at, {**known, **verdict, **asked, "attempt": run.attempt, **facts}, job)


def silent(event: Event) -> None:
    """Hears nothing."""


def line(event: Event) -> str:
    """An event as one line of JSON, whatever its facts contain."""
    return json.dumps({"event": event.name, "at": event.at, **event.facts}, default=str, sort_keys=True)


def guarded(sink: Sink, log: logging.Logger = log) -> Sink:
    """The sink, of which no failure reaches who tells: the first is logged, until such events are heard again."""
    failing = ""  # the name of the event that it failed on

    def hear(event: Event) -> None:
        nonlocal failing
        try:
            sink(event)
        except Exception:
            if not failing:
                log.exception("the sink failed on %s; Kron goes on", event.name)
            failing = failing or event.name
        else:
            failing = "" if failing == event.name else failing

    return hear


class Memory:
    """Remembers every event: for tests."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Hear an event."""
        self.events.append(event)

    def named(self, name: str) -> list[Event]:
        """The events of that name."""
        return [event for event in self.events if event.name == name]


def all_of(*sinks: Sink) -> Sink:
    """One sink that passes on to several."""

    def hear(event: Event) -> None:
        for sink in sinks:
            sink(event)

    return hear
