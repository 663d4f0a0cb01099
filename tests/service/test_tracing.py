"""Spans: one for each tick that did something, one for each launch, linked to it; none without the package."""

import sys

import pytest

from kron.apps.service import working as application
from kron.apps.service.observe.tracing import Tracing, trace_headers, tracing
from tests.service.http import receiving, serving, until


@pytest.fixture
def spans(monkeypatch):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    monkeypatch.setattr(application, "tracing", lambda: Tracing(provider.get_tracer("kron")))
    return memory.get_finished_spans


def test_a_launch_is_a_span_linked_to_its_tick_and_carried_to_its_target(spans):
    with receiving(lambda n: ((503 if n == 1 else 200), {}, b"")) as receiver:
        with serving(run_worker=True, tick_ms=50) as service:
            service.put("/v1/schedules/s", {"schedule": "0 9 1 1 *", "target": receiver.url})
            key = service.post("/v1/schedules/s/trigger").json["key"]
            until(lambda: service.get(f"/v1/runs/{key}").json["state"] == "success")
        launches = [span for span in spans() if span.name == "kron.launch"]
        ticks = {span.context.span_id for span in spans() if span.name == "kron.tick"}
        assert [span.attributes["kron.attempt"] for span in launches] == [1, 2]
        assert [span.attributes["kron.answer"] for span in launches] == ["retryable", "ok"]
        assert [span.status.status_code.name for span in launches] == ["ERROR", "UNSET"]
        assert {span.attributes["kron.key"] for span in launches} == {key}
        for span, (_, headers, _) in zip(launches, receiver.seen, strict=True):
            assert [link.context.span_id in ticks for link in span.links] == [True]
            assert headers["traceparent"].split("-")[2] == f"{span.context.span_id:016x}"


def test_without_the_package_there_are_no_spans(monkeypatch):
    monkeypatch.setattr("kron.apps.service.observe.tracing.trace", None)
    assert tracing() is None
    assert trace_headers() == {}


def test_the_package_is_imported_in_one_place():
    import ast

    from tests.docs.page import ROOT

    places = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("opentelemetry"):
                places.add(path.name)
    assert places == {"tracing.py"}
    assert "opentelemetry" in sys.modules
