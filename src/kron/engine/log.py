"""Log: every event as one line of JSON. Where a period was decided, the line is enough for `kron verify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kron.engine.events import Event, Sink, line
from kron.language.record import record_of
from kron.timing.period import Period


def log_to(write: Callable[[str], object]) -> Sink:
    """Return a sink that writes each event as a line, with its line feed."""

    def receive(event: Event) -> None:
        write(line(with_decision(event)) + "\n")

    return receive


def with_decision(event: Event) -> Event:
    """Return the event with the decision that led to it. A requested run has none."""
    if event.job is None or "trigger" in event.facts:
        return event
    decision = record_of(event.job, Period(event.facts["nominal"]))
    return replace(event, facts={**event.facts, "decision": decision})
