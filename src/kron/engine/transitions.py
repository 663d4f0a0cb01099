"""Transitions: changes from one pass of a worker to the next, reported once: store, clock skew, shard lease."""

from __future__ import annotations

from kron.engine.events import Event, Sink


class Transitions:
    """Sink that passes every event on, and adds an event for each change."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.failed = 0  # passes in a row that failed because of the store
        self.astray: int | None = None  # milliseconds: when the clock skew was last too large
        self.shards: int | None = None

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        if event.name == "pass_failed":
            self._failed(event)
        elif event.name == "clock_skew_exceeded":
            self._skewed(event)
        elif event.name == "pass" and event.at != self.astray:
            self._passed(event)
        self.sink(event)

    def _failed(self, event: Event) -> None:
        self.failed += 1
        if self.failed == 1:
            self.sink(Event("store_lost", event.at, {"error": event.facts.get("error", "")}))

    def _skewed(self, event: Event) -> None:
        if self.astray is None:
            self.sink(Event("clock_skewed", event.at, {"skew": event.facts["skew"]}))
        self.astray = event.at

    def _passed(self, event: Event) -> None:
        if self.failed:
            self.sink(Event("store_back", event.at, {"failed": self.failed}))
            self.failed = 0
        if self.astray is not None:
            self.sink(Event("clock_agrees", event.at))
            self.astray = None
        shards = event.facts.get("shards")
        if shards is not None and shards != (self.shards or 0):
            name = "shards_gained" if shards > (self.shards or 0) else "shards_lost"
            self.sink(Event(name, event.at, {"shards": shards}))
        self.shards = shards
