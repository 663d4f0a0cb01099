"""Transitions: changes from one pass of a worker to the next, reported once: store, clock skew, shard lease."""

from __future__ import annotations

from kron.engine.events import Event, Sink


class Transitions:
    """Sink that passes every event on, and adds an event for each change."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.failed_passes = 0  # passes in a row that failed because of the store
        self.skewed_at: int | None = None  # milliseconds: when the clock skew was last too large
        self.shards: int | None = None

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        if event.name == "pass_failed":
            self._on_failed(event)
        elif event.name == "clock_skew_exceeded":
            self._on_skewed(event)
        elif event.name == "pass" and event.at != self.skewed_at:
            self._on_pass(event)
        self.sink(event)

    def _on_failed(self, event: Event) -> None:
        self.failed_passes += 1
        if self.failed_passes == 1:
            self.sink(Event("store_lost", event.at, {"error": event.facts.get("error", "")}))

    def _on_skewed(self, event: Event) -> None:
        if self.skewed_at is None:
            self.sink(Event("clock_skewed", event.at, {"skew": event.facts["skew"]}))
        self.skewed_at = event.at

    def _on_pass(self, event: Event) -> None:
        if self.failed_passes:
            self.sink(Event("store_back", event.at, {"failed": self.failed_passes}))
            self.failed_passes = 0
        if self.skewed_at is not None:
            self.sink(Event("clock_agrees", event.at))
            self.skewed_at = None
        shards = event.facts.get("shards")
        if shards is not None and shards != (self.shards or 0):
            name = "shards_gained" if shards > (self.shards or 0) else "shards_lost"
            self.sink(Event(name, event.at, {"shards": shards}))
        self.shards = shards
