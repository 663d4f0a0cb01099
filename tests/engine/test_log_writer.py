"""The log writer: what is logged at which level, and that it can neither block nor stop the engine."""

import io
import json
import logging
import threading
import time
from dataclasses import replace

import pytest

from kron.engine.events import Event
from kron.engine.log_events import DEBUG, ERROR, INFO, WARNING, level_of, text_of
from kron.engine.log_writer import LogWriter, log_stream, log_with
from kron.engine.transitions import Transitions

RUN = {"identity": "a", "nominal": 0, "key": "k", "due_at": 0, "attempt": 1}
LEVELS = [
    (Event("pass", 1, {"examined": 0, "committed": 0, "skew": 0}), DEBUG, ""),
    (Event("run_recorded", 1, {**RUN, "state": "pending"}), DEBUG, "recorded"),
    (Event("launch_completed", 1, {**RUN, "state": "started", "result": "ok"}), INFO, "accepted"),
    (Event("launch_completed", 1, {**RUN, "state": "success", "result": "ok"}), INFO, "succeeded"),
    (Event("launch_completed", 1, {**RUN, "state": "retry", "result": "temporary"}), WARNING, "Kron will retry"),
    (
        Event("launch_completed", 1, {**RUN, "state": "failed", "result": "rejected", "reason": "launch_failed"}),
        WARNING,
        "launch_failed",
    ),
    (Event("run_finished", 1, {**RUN, "state": "skipped", "outcome": "skipped", "reason": "overlap"}), INFO, "overlap"),
    (
        Event("run_finished", 1, {**RUN, "state": "missed", "outcome": "missed", "reason": "deadline"}),
        WARNING,
        "deadline",
    ),
    (Event("run_finished", 1, {**RUN, "state": "lost"}), WARNING, "lost"),
    (Event("schedule_set_aside", 1, {"identity": "a", "reason": "unreadable"}), ERROR, "unreadable"),
    (Event("launch_withheld", 1, {**RUN, "state": "launching", "why": "too late"}), WARNING, "not sent: too late"),
    (
        Event("run_recorded", 1, {**RUN, "state": "waiting", "reason": "timeout", "timeout_ms": 1_500}),
        WARNING,
        "attempt 1 exceeded its time limit of 1.5 s; Kron will retry",
    ),
    (
        Event("run_finished", 1, {**RUN, "state": "failed", "reason": "timeout", "timeout_ms": 60_000}),
        WARNING,
        "failed: timeout, its time limit is 60 s",
    ),
]


@pytest.mark.parametrize(("event", "level", "word"), LEVELS)
def test_level_and_text_of_events(event, level, word):
    assert level_of(event) == level
    assert word in text_of(event)
    assert "\n" not in text_of(event)


def test_log_stream_at_info_leaves_out_passes():
    out = io.StringIO()
    sink, writer = log_stream(out, "json", "info")
    for event, *_ in LEVELS:
        sink(event)
    writer.close()
    said = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in said] == [e.name for e, level, _ in LEVELS if level >= INFO]
    assert {line["level"] for line in said} == {"info", "warning", "error"}


def test_log_writer_that_stands_still_blocks_nobody():
    stuck, dropped = threading.Event(), []
    writer = LogWriter(lambda *_: stuck.wait(), lambda _: True, room=10, dropped=lambda: dropped.append(1))
    began = time.monotonic()
    for _ in range(1_000):
        writer(LEVELS[2][0])
    assert time.monotonic() - began < 1
    assert writer.dropped == len(dropped) >= 1_000 - 12
    began = time.monotonic()
    writer.close(0.1)
    assert time.monotonic() - began < 1
    stuck.set()


def test_log_writer_that_raises_stops_nobody():
    def full(*_):
        raise OSError("disk full")

    writer = LogWriter(full, lambda _: True)
    writer(LEVELS[2][0])
    writer.close()
    assert writer.dropped == 1


def test_dropped_lines_are_told_once_there_is_room():
    out, gate = [], threading.Event()

    def write(level, event):
        gate.wait(5)
        out.append(event)

    writer = LogWriter(write, lambda _: True, room=2)
    for _ in range(10):
        writer(LEVELS[2][0])
    gate.set()
    writer.close()
    assert out[-1].name == "log_dropped"
    assert out[-1].facts["count"] == writer.dropped > 0


def test_transitions_tell_a_series_once():
    heard = []
    sink = Transitions(lambda event: heard.append(event.name))
    good = {"examined": 0, "committed": 0, "shards": 64}
    events = [Event("pass", 1, good), Event("pass", 2, good), *[Event("pass_failed", 0, {"error": "x"})] * 3]
    events += [Event("pass", 3, good), *[Event("clock_skew_exceeded", n, {"skew": 9_000}) for n in (4, 5)]]
    events += [Event("pass", 5, good), Event("pass", 6, {**good, "shards": 32})]
    for event in events:
        sink(event)
    told = [name for name in heard if name not in ("pass", "pass_failed", "clock_skew_exceeded")]
    assert told == ["shards_gained", "store_lost", "store_back", "clock_skewed", "clock_agrees", "shards_lost"]


def test_log_with_logging_carries_the_facts(caplog):
    sink, writer = log_with(logging.getLogger("kron.scheduler"))
    with caplog.at_level(logging.INFO, "kron.scheduler"):
        sink(LEVELS[2][0])
        sink(LEVELS[0][0])
        writer.close()
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert "run of a for 1970-01-01T00:00:00Z accepted" in record.getMessage()
    assert record.kron["identity"] == "a"


def test_name_of_a_job_cannot_write_a_line_of_the_log(caplog):
    sink, writer = log_with(logging.getLogger("kron.scheduler"))
    with caplog.at_level(logging.INFO, "kron.scheduler"):
        sink(replace(LEVELS[2][0], facts={**LEVELS[2][0].facts, "identity": "a\u2028INFO forged\x1b[2J"}))
        writer.close()
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert "forged" in record.getMessage()
