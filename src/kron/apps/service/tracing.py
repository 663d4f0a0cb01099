"""Traces, where OpenTelemetry is installed: a span for each tick that did something, and for each launch, linked to it.

A launch may come long after its tick, and may be tried by several: so it is a trace of its own with a link, rather than
a child. Without the package nothing happens. Where spans go, the environment says (`OTEL_…`), as everywhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from kron.core.answer import Answer, Receipt
from kron.core.run import Run
from kron.core.zone import rfc3339
from kron.events import Event
from kron.launcher import Launch, Launcher

try:
    from opentelemetry import propagate, trace
except ImportError:  # pip install 'kron-py[otel]'
    trace = None  # type: ignore[assignment]

TICKS = 1_000  # spans of ticks that are remembered, for launches to come


class Tracing:
    """A sink that makes spans of ticks, and remembers them for the launches."""

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.ticks = tracer, OrderedDict[int, Any]()

    def __call__(self, event: Event) -> None:
        """Hear an event: a tick that has written something is a span."""
        if event.name != "pass" or not event.facts["settled"] or event.at in self.ticks:
            return
        facts = {f"kron.{name}": event.facts[name] for name in ("owner", "looked", "settled")}
        self.ticks[event.at] = self._span(event.at, facts).get_span_context()
        _trim(self.ticks, TICKS)

    def tick_at(self, claimed: int) -> Any:
        """The span of the tick in which a run was claimed. A launch comes first, and the worker tells of it later."""
        if claimed not in self.ticks:
            self.ticks[claimed] = self._span(claimed, {}).get_span_context()
            _trim(self.ticks, TICKS)
        return self.ticks[claimed]

    def _span(self, at: int, facts: dict[str, Any]) -> Any:
        span = self.tracer.start_span("kron.tick", start_time=at * 1_000_000, attributes=facts)
        span.end()
        return span

    def around(self, launcher: Launcher) -> Launcher:
        """The launcher, with a span around each start."""
        return _Traced(launcher, self)


class _Traced:
    """A launcher within spans."""

    def __init__(self, launcher: Launcher, tracing: Tracing) -> None:
        self.launcher, self.tracing = launcher, tracing

    async def start(self, launch: Launch) -> Answer | Receipt:
        run, tick = launch.run, self.tracing.tick_at(launch.run.sent)
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

    def __getattr__(self, name: str) -> Any:
        """What the launcher may have besides: its names, its lanes, what it holds."""
        return getattr(self.launcher, name)


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
