"""Traces, where OpenTelemetry is installed: a span for each tick that did something, and for each launch, linked to it.

A launch may come long after its tick, and may be tried by several: so it is a trace of its own with a link, rather than
a child. Without the package nothing happens. Where spans go, the environment says (`OTEL_…`), as everywhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from kron.core.answer import Answer, Receipt
from kron.core.job import Job
from kron.core.run import Run
from kron.core.zone import rfc3339
from kron.events import Event
from kron.launcher import Launch, Launcher

TICKS, LAUNCHES = 1_000, 10_000  # that are remembered, so that a launch knows its tick

try:
    from opentelemetry import propagate, trace
except ImportError:  # pip install 'kron-py[otel]'
    trace = None  # type: ignore[assignment]


class Tracing:
    """A sink that makes spans of ticks, and remembers them for the launches."""

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.ticks, self.recorded = tracer, OrderedDict[int, Any](), OrderedDict[str, int]()

    def __call__(self, event: Event) -> None:
        """Hear an event: a tick that has written something is a span."""
        if event.name == "run_recorded":
            self.recorded[event.facts["key"]] = event.at
            _trim(self.recorded, LAUNCHES)
        if event.name != "pass" or not event.facts["settled"]:
            return
        facts = {f"kron.{name}": event.facts[name] for name in ("owner", "looked", "settled")}
        span = self.tracer.start_span("kron.tick", start_time=event.at * 1_000_000, attributes=facts)
        span.end()
        self.ticks[event.at] = span.get_span_context()
        _trim(self.ticks, TICKS)

    def tick_of(self, key: str) -> Any:
        """The span of the tick that has written a run; None if it is forgotten."""
        return self.ticks.get(self.recorded.get(key, -1))

    def around(self, launcher: Launcher) -> Launcher:
        """The launcher, with a span around each start."""
        return _Traced(launcher, self)


class _Traced:
    """A launcher within spans."""

    def __init__(self, launcher: Launcher, tracing: Tracing) -> None:
        self.launcher, self.tracing = launcher, tracing

    async def start(self, launch: Launch) -> Answer | Receipt:
        run, tick = launch.run, self.tracing.tick_of(launch.run.key)
        said = {
            "kron.schedule": run.identity,
            "kron.key": run.key,
            "kron.period": rfc3339(run.nominal),
            "kron.attempt": run.attempt,
            "kron.revision": run.revision,
        }
        links = [trace.Link(tick)] if tick else []
        with self.tracing.tracer.start_as_current_span(
            "kron.launch", kind=trace.SpanKind.CLIENT, attributes=said, links=links
        ) as span:
            answer = await self.launcher.start(launch)
            told = answer.answer if isinstance(answer, Receipt) else answer
            span.set_attribute("kron.answer", str(told))
            if told is not Answer.OK:
                span.set_status(trace.StatusCode.ERROR)
            return answer

    async def cancel(self, run: Run) -> None:
        await self.launcher.cancel(run)

    def lane(self, job: Job) -> str:
        """Return what the launcher's launches are shared out by; empty if it does not say."""
        asked = getattr(self.launcher, "lane", None)
        return str(asked(job)) if asked else ""


def _trim(memory: OrderedDict[Any, Any], most: int) -> None:
    while len(memory) > most:
        memory.popitem(last=False)


def tracing() -> Tracing | None:
    """What makes spans; None where OpenTelemetry is not installed."""
    return None if trace is None else Tracing(trace.get_tracer("kron"))


def carried() -> Mapping[str, str]:
    """The headers that carry the present span to whoever is called: `traceparent`."""
    headers: dict[str, str] = {}
    if trace is not None:
        propagate.inject(headers)
    return headers
