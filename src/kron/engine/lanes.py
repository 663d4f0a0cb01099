"""Lanes: queues of launches by tenant and host, so that no tenant or host delays the others.

The lanes take turns. A launch that takes long leaves its fast slot. A tenant or a host can hold only its share of slow
launches; launches beyond this share are not sent now. A host that has not been quick is on trial: while launches to
other hosts wait, hosts on trial hold at most half of the fast slots. A host that has reached its limit holds no slot:
its lanes wait.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from math import inf
from typing import Generic, NamedTuple, TypeVar

from kron.engine.target_limit import TargetLimits

T = TypeVar("T")

SLOW_SHARE_DIVISORS = {"tenant": 4, "host": 8}  # each holds at most 1/n of a worker's slow launches
MAX_QUICK_HOSTS = 10_000  # hosts known to be quick; the least recently used one is forgotten
MAX_PARKED_ENTRIES = 100  # entries of a full lane that wait; the others are not sent now


class Lane(NamedTuple):
    """Queue key: tenant and host of a launch."""

    tenant: str
    host: str

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Keys by which slow launches are counted; by host alone where there are no tenants."""
        return (("tenant", self.tenant), ("host", self.host)) if self.tenant else (("host", self.host),)


class Lanes(Generic[T]):
    """Entries by lane, the order of the lanes, and which lanes are full."""

    def __init__(self, fast: int, slow: int, limits: TargetLimits | None = None) -> None:
        self.max_fast, self.max_slow, self.limits = fast, slow, limits
        self.fast = self.slow = self.waiting = 0
        self.queues: dict[Lane, deque[T]] = {}
        self.quick_lanes: deque[Lane] = deque()
        self.trial_lanes: OrderedDict[str, deque[Lane]] = OrderedDict()  # lanes of hosts on trial, by host
        self.quick_hosts: OrderedDict[str, None] = OrderedDict()  # hosts whose last launch was quick
        self.trial_slots: Counter[str] = Counter()  # fast slots that hosts on trial hold
        self.parked: dict[Lane, int] = {}  # lanes that wait for slow launches to end, with their number of entries
        self.slow_counts: Counter[tuple[str, str]] = Counter()  # slow launches by tenant and by host

    def put(self, lane: Lane, entry: T) -> None:
        """Add an entry to its lane."""
        queue = self.queues.get(lane)
        if queue is None:
            queue = self.queues[lane] = deque()
            self._enqueue_lane(lane)
        queue.append(entry)
        self.waiting += 1
        if self.limits is not None:
            self.limits.enter(lane.host)

    @property
    def ready(self) -> int:
        """Estimated number of entries that can be taken now: a lane may turn out to be full."""
        return min(self.waiting - (self.held_back if self.parked else 0), self.max_fast - self.fast)

    @property
    def held_back(self) -> int:
        """Number of entries that wait in full lanes."""
        return sum(self.parked.values())

    def take(self) -> tuple[Lane, T] | None:
        """Return the next entry if a fast slot is free for it, otherwise None. Full lanes are passed over."""
        while self.fast < self.max_fast and (lane := self._next_lane()) is not None:
            if self._is_full(lane):
                self.parked[lane] = len(self.queues[lane])
                continue
            entry = self._pop_entry(lane)
            if lane in self.queues:
                self._enqueue_lane(lane)
            self.fast += 1
            if self.limits is not None:
                self.limits.begin(lane.host)
            if lane.host not in self.quick_hosts:
                self.trial_slots[lane.host] += 1
            return lane, entry
        return None

    def _enqueue_lane(self, lane: Lane) -> None:
        if lane.host in self.quick_hosts:
            self.quick_lanes.append(lane)
        else:
            self.trial_lanes.setdefault(lane.host, deque()).append(lane)

    def _next_lane(self) -> Lane | None:
        """Return the next lane: of a host on trial, while such hosts have slots left or no other host waits."""
        if self.quick_lanes and (not self.trial_lanes or self.trial_slots.total() >= max(1, self.max_fast // 2)):
            return self.quick_lanes.popleft()
        if not self.trial_lanes:
            return None
        host, lanes = self.trial_lanes.popitem(last=False)
        lane = lanes.popleft()
        if lanes:
            self.trial_lanes[host] = lanes
        return lane

    def surplus(self, is_old: Callable[[T], bool]) -> list[T]:
        """Remove and return the entries of full lanes that cannot wait there.

        These are the newest beyond the number that can wait. Where there are limits, also the oldest for which `is_old`
        returns True: a lane can wait for long.
        """
        removed, limits = list[T](), self.limits
        lane_counts = Counter(lane.host for lane in self.parked)
        for lane in list(self.parked):
            queue, max_waiting = self.queues[lane], MAX_PARKED_ENTRIES
            if limits is not None:
                max_waiting = limits.max_waiting(lane.host, lane_counts[lane.host], MAX_PARKED_ENTRIES)
            count = len(queue)
            removed += [queue.pop() for _ in range(count - max_waiting)]
            while limits is not None and queue and is_old(queue[0]):
                removed.append(queue.popleft())
            self._leave(lane, count - len(queue))
            self.parked[lane] = len(queue)
            if not queue:
                del self.queues[lane], self.parked[lane]
        return removed

    @property
    def limit_wait(self) -> float:
        """Seconds until the rate limit of a waiting lane allows a launch; infinity if none waits for a rate."""
        if self.limits is None:
            return inf
        return min((self.limits.wait(lane.host) for lane in self.parked if not self._is_crowded(lane)), default=inf)

    def clear(self) -> list[T]:
        """Remove and return all entries."""
        removed = [entry for queue in self.queues.values() for entry in queue]
        for lane, queue in self.queues.items():
            self._leave(lane, len(queue))
        self.queues.clear()
        self.quick_lanes.clear()
        self.trial_lanes.clear()
        self.parked.clear()
        return removed

    def _pop_entry(self, lane: Lane) -> T:
        entry = self.queues[lane].popleft()
        self._leave(lane, 1)
        if not self.queues[lane]:
            del self.queues[lane]
        return entry

    def _leave(self, lane: Lane, count: int) -> None:
        """Record that entries have left their lane."""
        self.waiting -= count
        if self.limits is not None:
            self.limits.leave(lane.host, count)

    def _is_full(self, lane: Lane) -> bool:
        """Return whether the lane's tenant or host has used its share of slow launches, or has reached its limit."""
        return (self.limits is not None and self.limits.wait(lane.host) > 0) or self._is_crowded(lane)

    def _is_crowded(self, lane: Lane) -> bool:
        """Return whether the lane's tenant or host has used its share of slow launches."""
        return bool(self.slow_counts) and any(
            self.slow_counts[key] >= max(1, self.max_slow // SLOW_SHARE_DIVISORS[key[0]]) for key in lane.keys
        )

    def slows(self, lane: Lane) -> bool:
        """Record that a launch of a lane takes long. Returns whether its fast slot is free for another launch."""
        self.quick_hosts.pop(lane.host, None)
        if self.slow >= self.max_slow:
            return False
        self._release_trial(lane)
        self.fast -= 1
        self.slow += 1
        self.slow_counts.update(lane.keys)
        return True

    def ends(self, lane: Lane, *, slow: bool, quick: bool = True) -> None:
        """Record that a launch of a lane has ended: whether it had left its fast slot, and whether it was quick."""
        if not slow:
            self.fast -= 1
            self._release_trial(lane)
            if quick:
                self._mark_quick(lane.host)
            if self.limits is None:
                return
        else:
            self.slow -= 1
            self.slow_counts.subtract(lane.keys)
            for key in lane.keys:
                if not self.slow_counts[key]:
                    del self.slow_counts[key]
        self.unpark()

    def unpark(self) -> None:
        """Let the lanes take turns again that are no longer full: for a limit, only as many as it allows launches."""
        freed = Counter[str]()
        for lane in [lane for lane in self.parked if not self._is_full(lane)]:
            if self.limits is not None and freed[lane.host] >= self.limits.free(lane.host):
                continue
            freed[lane.host] += 1
            del self.parked[lane]
            self._enqueue_lane(lane)

    def _release_trial(self, lane: Lane) -> None:
        """Record that a launch leaves its fast slot."""
        if lane.host in self.trial_slots:
            self.trial_slots[lane.host] -= 1
            if not self.trial_slots[lane.host]:
                del self.trial_slots[lane.host]

    def _mark_quick(self, host: str) -> None:
        """Record that a host is quick: waiting launches and launches in progress to it are no longer on trial."""
        self.trial_slots.pop(host, None)
        self.quick_lanes.extend(self.trial_lanes.pop(host, ()))
        self.quick_hosts[host] = None
        self.quick_hosts.move_to_end(host)
        if len(self.quick_hosts) > MAX_QUICK_HOSTS:
            self.quick_hosts.popitem(last=False)
