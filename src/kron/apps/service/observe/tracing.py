"""Traces with OpenTelemetry: a span for each pass that wrote something, and a linked span for each launch.

A launch can follow long after its pass, and several workers can attempt it. It is therefore a separate trace with a
link, not a child. Without the package, nothing happens. The usual `OTEL_…` variables select where spans are sent.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from kron.engine.events import Event
from kron.engine.launcher import Launch, Launcher
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.timing.zone import rfc3339

try:
    from opentelemetry import propagate, trace
except ImportError:  # pip install 'kron-py[otel]'
    trace = None  # type: ignore[assignment]

MAX_TICK_SPANS = 1_000  # spans of passes that are kept for later launches


class Tracing:
    """Sink that creates spans for passes and keeps them for the launches."""

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.ticks = tracer, OrderedDict[int, Any]()

    def __call__(self, event: Event) -> None:
        """Process an event; a pass that has written something becomes a span."""
        if event.name != "pass" or not event.facts["committed"] or event.at in self.ticks:
            return
        facts = {f"kron.{name}": event.facts[name] for name in ("owner", "examined", "committed")}
        self.ticks[event.at] = self._span(event.at, facts).get_span_context()
        _trim(self.ticks, MAX_TICK_SPANS)

    def tick_at(self, claimed: int) -> Any:
        """Return the span of the pass that claimed a run. A launch can come before the worker reports that pass."""
        if claimed not in self.ticks:
            self.ticks[claimed] = self._span(claimed, {}).get_span_context()
            _trim(self.ticks, MAX_TICK_SPANS)
        return self.ticks[claimed]

    def _span(self, at: int, facts: dict[str, Any]) -> Any:
        span = self.tracer.start_span("kron.tick", start_time=at * 1_000_000, attributes=facts)
        span.end()
        return span

    def around(self, launcher: Launcher) -> Launcher:
        """Return the launcher with a span around each launch."""
        return _Traced(launcher, self)


class _Traced:
    """Launcher with spans."""

    def __init__(self, launcher: Launcher, tracing: Tracing) -> None:
        self.launcher, self.tracing = launcher, tracing

    async def start(self, launch: Launch) -> LaunchResult | LaunchResponse:
        run, tick = launch.run, self.tracing.tick_at(launch.run.sent)
        attributes = {
            "kron.schedule": run.identity,
            "kron.key": run.key,
            "kron.period": rfc3339(run.nominal),
            "kron.attempt": run.attempt,
            "kron.revision": run.revision,
        }
        links = [trace.Link(tick)] if tick else []
        with self.tracing.tracer.start_as_current_span(
            "kron.launch", kind=trace.SpanKind.CLIENT, attributes=attributes, links=links
        ) as span:
            response = await self.launcher.start(launch)
            result = response.result if isinstance(response, LaunchResponse) else response
            span.set_attribute("kron.answer", str(result))
            if result is not LaunchResult.OK:
                span.set_status(trace.StatusCode.ERROR)
            return response

    async def cancel(self, run: Run) -> None:
        await self.launcher.cancel(run)

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the launcher: its names, lanes and held runs."""
        return getattr(self.launcher, name)


def _trim(spans: OrderedDict[Any, Any], limit: int) -> None:
    while len(spans) > limit:
        spans.popitem(last=False)


def tracing() -> Tracing | None:
    """Return the tracing sink; None if OpenTelemetry is not installed."""
    return None if trace is None else Tracing(trace.get_tracer("kron"))


def trace_headers() -> Mapping[str, str]:
    """Return the headers that propagate the current span to the receiver: `traceparent`."""
    headers: dict[str, str] = {}
    if trace is not None:
        propagate.inject(headers)
    return headers
