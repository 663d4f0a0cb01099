"""Tz watch: finds out whether the living workers have different tz databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kron.engine.events import Event, Sink
from kron.engine.fleet import Member
from kron.timing.tzdata import host_version


class TzWatch:
    """Emits `tz_databases_differ` when a worker starts, and when another version joins while the versions differ."""

    def __init__(self, owner: str, sink: Sink) -> None:
        self.owner, self.sink = owner, sink
        self.versions = frozenset[str]()  # those of the last comparison

    def compare(self, members: Iterable[Member], now: int) -> None:
        """Compare the tz databases that the living workers have registered. `now` is in milliseconds."""
        counts = Counter(member.tz for member in members if member.tz)
        joined, self.versions = counts.keys() - self.versions, frozenset(counts)
        if joined and len(counts) > 1:
            facts = {"owner": self.owner, "tz": host_version(), "workers": dict(sorted(counts.items()))}
            self.sink(Event("tz_databases_differ", now, facts))
