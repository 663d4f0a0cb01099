"""Log writer: a sink that never blocks and never raises. It has a bounded queue and a thread that writes."""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from kron.engine.events import Event, Sink
from kron.engine.log import with_decision
from kron.engine.log_events import level_of, text_of
from kron.engine.transitions import Transitions
from kron.timing.zone import rfc3339_ms

MAX_WAITING_EVENTS = 10_000  # maximum events that wait to be written
CLOSE_TIMEOUT_SECONDS = 2.0  # maximum time that `close` waits for the log
_PLAIN = re.compile(r"[A-Za-z0-9_./:+@,%-]+")  # values that logfmt needs no quotes for
Write = Callable[[int, Event], None]


def _do_nothing() -> None:
    """Do nothing."""


class LogWriter:
    """Sink that writes events of its level in its own thread.

    Events that do not fit into the queue are counted and dropped.
    """

    def __init__(
        self,
        write: Write,
        enabled: Callable[[int], bool],
        *,
        room: int = MAX_WAITING_EVENTS,
        dropped: Callable[[], None] = _do_nothing,
    ) -> None:
        self.write, self.enabled, self.on_drop = write, enabled, dropped
        self.waiting: queue.Queue[tuple[int, Event] | None] = queue.Queue(room)
        self.dropped = self._reported = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        level = level_of(event)
        if not self.enabled(level):
            return
        try:
            self.waiting.put_nowait((level, event))
        except queue.Full:
            self._drop()
        if self._thread is None:
            self._start()

    def close(self, timeout: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """Write the waiting events, for at most `timeout` seconds."""
        thread = self._thread
        if thread is None:
            return
        try:
            self.waiting.put(None, timeout=timeout)
        except queue.Full:
            return
        thread.join(timeout)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="kron-log", daemon=True)
                self._thread.start()

    def _write_all(self) -> None:
        while True:
            entry = self.waiting.get()
            if entry is None:
                return
            self._write_event(*entry)
            count = self.dropped - self._reported
            if count and self.waiting.empty():
                with suppress(Exception):
                    self.write(logging.WARNING, Event("log_dropped", entry[1].at, {"count": count}))
                    self._reported += count

    def _write_event(self, level: int, event: Event) -> None:
        try:
            self.write(level, event)
        except Exception:
            self._drop()

    def _drop(self) -> None:
        self.dropped += 1
        self.on_drop()


def log_stream(
    stream: TextIO, form: str, level: str, dropped: Callable[[], None] = _do_nothing
) -> tuple[Sink, LogWriter]:
    """Return a sink that logs to a stream, and its writer, which the caller must close.

    Args:
        stream: Where to write.
        form: `text`, `json`, `logfmt`, or `auto`: text on a terminal, JSON elsewhere.
        level: Name of the lowest level that is written, such as `info`.
        dropped: Called for each event that could not be written.
    """
    min_level = getattr(logging, level.upper())
    write_line = _descriptor(stream)
    form = ("text" if stream.isatty() else "json") if form == "auto" else form
    write_event = {"text": _text, "logfmt": _logfmt}.get(form, _json)

    def write(number: int, event: Event) -> None:
        write_line(write_event(number, event) + "\n")

    writer = LogWriter(write, lambda number: bool(number >= min_level), dropped=dropped)
    return Transitions(writer), writer


def log_with(logger: logging.Logger) -> tuple[Sink, LogWriter]:
    """Return a sink that logs with `logging`, and its writer. The facts of an event are in `record.kron`."""

    def write(number: int, event: Event) -> None:
        logger.log(
            number,
            "%s",
            _printable(text_of(event)),
            extra={"kron": {"event": event.name, "at": event.at, **event.facts}},
        )

    writer = LogWriter(write, logger.isEnabledFor)
    return Transitions(writer), writer


def _text(level: int, event: Event) -> str:
    return f"{rfc3339_ms(_at(event))} {logging.getLevelName(level):7} {_printable(text_of(event))}"


def _json(level: int, event: Event) -> str:
    full_event = with_decision(event)
    head = {"event": full_event.name, "level": logging.getLevelName(level).lower(), "at": _at(full_event)}
    return json.dumps({**head, "message": text_of(event), **full_event.facts}, default=str, sort_keys=True)


def _logfmt(level: int, event: Event) -> str:
    """Return an event as `name=value` pairs. A value with spaces or other special characters is a JSON string."""
    head = {"at": rfc3339_ms(_at(event)), "level": logging.getLevelName(level).lower(), "event": event.name}
    pairs = {**head, "message": text_of(event), **event.facts}
    return " ".join(f"{name}={_logfmt_value(value)}" for name, value in pairs.items() if value is not None)


def _logfmt_value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _at(event: Event) -> int:
    return event.at or int(time.time() * 1000)  # this host's clock, if the store's time is unknown


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in text)


def _descriptor(stream: TextIO) -> Callable[[str], object]:
    """Return a writer that avoids Python's locks: a reader that stands still must not block the end of the process."""
    try:
        descriptor = stream.fileno()
    except (OSError, AttributeError):
        return stream.write

    def write_text(text: str) -> None:
        remaining = text.encode("utf-8", "backslashreplace")
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]

    return write_text
