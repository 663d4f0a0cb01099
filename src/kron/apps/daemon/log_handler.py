"""Log handler: messages of `logging` as events, so that the log of the daemon has one format."""

from __future__ import annotations

import logging

from kron.engine.events import Event, Sink


class LogHandler(logging.Handler):
    """Handler that passes messages on to a sink."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self.sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a message on."""
        self.sink(Event("library_warning", 0, {"logger": record.name, "text": self.format(record)}))
