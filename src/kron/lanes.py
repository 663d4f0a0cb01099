"""Lanes: launches that wait for their turn, by tenant and host, so that none of them holds up the others.

The lanes take turns. A launch that takes long leaves its fast slot to others; a tenant or a host has no more than its
share of such slow launches, and what comes beyond it is not sent now.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

SHARES = {"tenant": 4, "host": 8}  # each holds at most this fraction of the slow launches of a worker
PARKED = 100  # entries of a full lane that wait for their turn; the others are not sent now


class Lane(NamedTuple):
    """Whose launches, and where to."""

    tenant: str
    host: str

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """By what its slow launches are counted; where there are no tenants, by host alone."""
        return (("tenant", self.tenant), ("host", self.host)) if self.tenant else (("host", self.host),)


class Lanes(Generic[T]):
    """Entries by lane; who is next, and which lanes are full."""

    def __init__(self, fast: int, slow: int) -> None:
        self.most_fast, self.most_slow = fast, slow
        self.fast = self.slow = self.waiting = 0
        self.queues: dict[Lane, deque[T]] = {}
        self.turn: deque[Lane] = deque()
        self.parked: dict[Lane, int] = {}  # lanes that wait for slow launches to end, and how many entries each has
        self.held: Counter[tuple[str, str]] = Counter()  # slow launches by tenant and by host

    def put(self, lane: Lane, entry: T) -> None:
        """Let an entry wait in its lane."""
        queue = self.queues.get(lane)
        if queue is None:
            queue = self.queues[lane] = deque()
            self.turn.append(lane)
        queue.append(entry)
        self.waiting += 1

    @property
    def held_back(self) -> int:
        """How many entries wait in full lanes."""
        return sum(self.parked.values())

    def take(self) -> tuple[Lane, T] | None:
        """The next entry, if there is one and a fast slot is free for it. Lanes that are full are passed over."""
        while self.turn and self.fast < self.most_fast:
            lane = self.turn.popleft()
            if self._full(lane):
                self.parked[lane] = len(self.queues[lane])
                continue
            entry = self._pop(lane)
            if lane in self.queues:
                self.turn.append(lane)
            self.fast += 1
            return lane, entry
        return None

    def surplus(self) -> list[T]:
        """The entries of full lanes beyond what may wait there, taken out of them."""
        found = list[T]()
        for lane in self.parked:
            while len(self.queues[lane]) > PARKED:
                found.append(self.queues[lane].pop())
                self.waiting -= 1
            self.parked[lane] = len(self.queues[lane])
        return found

    def clear(self) -> list[T]:
        """All entries, taken out of their lanes."""
        found = [entry for queue in self.queues.values() for entry in queue]
        self.queues.clear()
        self.turn.clear()
        self.parked.clear()
        self.waiting = 0
        return found

    def _pop(self, lane: Lane) -> T:
        entry = self.queues[lane].popleft()
        self.waiting -= 1
        if not self.queues[lane]:
            del self.queues[lane]
        return entry

    def _full(self, lane: Lane) -> bool:
        """Whether the lane's tenant or host has its share of slow launches."""
        return any(self.held[key] >= max(1, self.most_slow // SHARES[key[0]]) for key in lane.keys)

    def slows(self, lane: Lane) -> bool:
        """A launch of that lane takes long: whether its fast slot is free for another from now on."""
        if self.slow >= self.most_slow:
            return False
        self.fast -= 1
        self.slow += 1
        self.held.update(lane.keys)
        return True

    def ends(self, lane: Lane, *, slow: bool) -> None:
        """A launch of that lane has ended."""
        if not slow:
            self.fast -= 1
            return
        self.slow -= 1
        self.held.subtract(lane.keys)
        for key in lane.keys:
            if not self.held[key]:
                del self.held[key]
        freed = [other for other in self.parked if not self._full(other)]
        for other in freed:
            del self.parked[other]
            self.turn.append(other)
