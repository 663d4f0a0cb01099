"""Target limits: how many launches of a target are in progress at once, and how many begin per second.

A target is what `lane(job)` of a launcher returns: the host of a webhook, otherwise the scheme. Several workers share a
limit: each takes the limit divided by the number of living workers that can launch the same kind of target. A rate is
divided exactly. A concurrency is at least 1 for each worker.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from math import ceil, inf
from typing import NamedTuple

from kron.engine.clock import Timer
from kron.engine.target_name import EVERY_TARGET, read_target

LIMIT_HINT = "use TARGET=CONCURRENT,RATE/s, such as hooks.example.com=10,5/s, and * for every other target"
MAX_CONCURRENT = 10_000
MAX_PER_SECOND = 10_000.0
MIN_PER_SECOND = 0.001
MAX_KEPT_TARGETS = 10_000  # targets whose launches are remembered; beyond this number, idle ones are forgotten
MAX_WAITING = 1_000  # entries that can wait for the rate of one target
MAX_TURN_SECONDS = 60.0  # longest time until a withheld run is claimed again
FIRST_TURN_SECONDS = 5.0  # time until then, if only the concurrency is limited; doubles each time
_RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?)/s", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,5}", re.ASCII)


class BadLimit(ValueError):
    """Limit that cannot be read. The arguments are the item and the problem; `hint` says what to write."""

    def __init__(self, item: str, problem: str, hint: str = LIMIT_HINT) -> None:
        super().__init__(item, problem)
        self.hint = hint


class TargetLimit(NamedTuple):
    """Limit of one target, for all workers together. None means no limit."""

    target: str  # `*`: every target that has no limit of its own; each of them has this limit
    concurrent: int | None = None
    per_second: float | None = None

    def __str__(self) -> str:
        """Return the limit in words, such as `10 concurrent launches, 5 launches per second`."""
        concurrent = "" if self.concurrent is None else f"{_launches(self.concurrent, 'concurrent ')}"
        per_second = "" if self.per_second is None else f"{_launches(self.per_second)} per second"
        return ", ".join(filter(None, (concurrent, per_second)))


def read_limits(items: Iterable[str]) -> tuple[TargetLimit, ...]:
    """Return the limits of a list such as `hooks.example.com=10,5/s`, `*=20`. A comma can also separate items.

    Raises:
        BadLimit: A limit cannot be read, or no target can have its name.
    """
    limits = dict[str, TargetLimit]()
    target = ""
    for item in (part.strip() for text in items for part in text.split(",") if part.strip()):
        name, equals, value = item.rpartition("=")
        if equals:
            target, value = _target_of(name.strip(), item), value.strip()
            if target in limits:
                raise BadLimit(item, "names a target twice")
            limits[target] = TargetLimit(target)
        if not target:
            raise BadLimit(item, "names no target")
        limits[target] = _with_value(limits[target], value or item, item)
    return tuple(limits.values())


def _target_of(name: str, item: str) -> str:
    if not name:
        raise BadLimit(item, "names no target")
    try:
        return read_target(name)
    except ValueError as error:
        raise BadLimit(item, *error.args) from None


def _with_value(limit: TargetLimit, value: str, item: str) -> TargetLimit:
    """Return the limit with one more value: a number of launches, or a rate."""
    rate, is_count = _RATE.fullmatch(value), _COUNT.fullmatch(value) is not None
    is_allowed = (is_count and 1 <= int(value) <= MAX_CONCURRENT) or (
        rate is not None and MIN_PER_SECOND <= float(rate[1]) <= MAX_PER_SECOND
    )
    if not is_allowed:
        rates = f"{MIN_PER_SECOND:g}/s-{MAX_PER_SECOND:g}/s"
        raise BadLimit(item, f"is neither a number of launches (1-{MAX_CONCURRENT}) nor a rate ({rates})")
    if (limit.concurrent if rate is None else limit.per_second) is not None:
        raise BadLimit(item, "is a second value of the same kind")
    return limit._replace(concurrent=int(value)) if rate is None else limit._replace(per_second=float(rate[1]))


class _Use:
    """Launches of one target by this worker."""

    __slots__ = ("in_progress", "kind", "limit", "starts", "turn", "waiting")

    def __init__(self, limit: TargetLimit, kind: str) -> None:
        self.limit, self.kind = limit, kind
        self.in_progress = self.waiting = 0
        self.starts: deque[float] = deque()  # timer times of the latest launches, oldest first
        self.turn = -inf  # timer time at which the run that was withheld last can be sent


class TargetLimits:
    """Limits of the targets of one worker, and the launches that count for them."""

    def __init__(
        self, limits: Iterable[TargetLimit], timer: Timer, workers: Callable[[str], int], waiting_seconds: float
    ) -> None:
        """Create the limits.

        Args:
            limits: The limits, for all workers together.
            timer: Measures the rates.
            workers: Returns the number of living workers that can launch a kind of target.
            waiting_seconds: How long a claimed run can wait in its lane.
        """
        self.limits = {limit.target: limit for limit in limits}
        self.timer, self.workers, self.waiting_seconds = timer, workers, waiting_seconds
        self.uses: dict[str, _Use] = {}
        self.max_kept = MAX_KEPT_TARGETS  # targets beyond which idle ones are searched

    def register(self, target: str, kind: str) -> None:
        """Prepare a target for its launches. `kind` tells which workers share its limit."""
        use = self.uses.get(target)
        if use is not None:
            use.kind = kind
            return
        limit = self.limits.get(target) or self.limits.get(EVERY_TARGET)
        if limit is not None:
            if len(self.uses) >= self.max_kept:
                self._forget_idle()
            self.uses[target] = _Use(limit, kind)

    def enter(self, target: str) -> None:
        """Count a run that waits in its lane: its target is kept."""
        use = self.uses.get(target)
        if use is not None:
            use.waiting += 1

    def leave(self, target: str, count: int) -> None:
        """Count runs that leave their lane."""
        use = self.uses.get(target)
        if use is not None:
            use.waiting -= count

    def free(self, target: str) -> int:
        """Return how many launches of a target can begin now; a large number if the target has no limit."""
        use = self.uses.get(target)
        if use is None:
            return MAX_CONCURRENT
        concurrent = self._concurrent(use)
        free = MAX_CONCURRENT if concurrent is None else concurrent - use.in_progress
        if use.limit.per_second is None:
            return free
        count, seconds = self._rate(use)
        self._drop_old_starts(use, seconds)
        return min(free, count - len(use.starts))

    def begin(self, target: str) -> None:
        """Count a launch that begins."""
        use = self.uses.get(target)
        if use is not None:
            use.in_progress += 1
            if use.limit.per_second is not None:
                use.starts.append(self.timer.monotonic())

    def end(self, target: str, began: float, *, sent: bool) -> None:
        """Count the end of a launch that began at `began`. A run that was withheld does not count for the rate."""
        use = self.uses.get(target)
        if use is None:
            return
        use.in_progress -= 1
        if not sent:
            own = next((n for n in reversed(range(len(use.starts))) if use.starts[n] <= began), None)
            if own is not None:
                del use.starts[own]

    def wait(self, target: str) -> float:
        """Return the seconds until the rate of a target allows a launch; infinity if only the end of a launch does."""
        use = self.uses.get(target)
        if use is None:
            return 0.0
        concurrent = self._concurrent(use)
        if concurrent is not None and use.in_progress >= concurrent:
            return inf
        if use.limit.per_second is None:
            return 0.0
        count, seconds = self._rate(use)
        self._drop_old_starts(use, seconds)
        if len(use.starts) < count:
            return 0.0
        return max(0.0, use.starts[-count] + seconds - self.timer.monotonic())

    def max_waiting(self, target: str, lanes: int, default: int) -> int:
        """Return how many entries of one lane can wait: as many as the rate allows while a claim lasts.

        Args:
            target: Target of the lane.
            lanes: Number of lanes of the target that wait, one for each tenant. They share the number.
            default: Number of entries if the target has no rate.
        """
        use = self.uses.get(target)
        if use is None:
            return default
        per_second = use.limit.per_second
        waiting = default if per_second is None else min(MAX_WAITING, int(self._per_second(use) * self.waiting_seconds))
        return max(1, waiting // lanes)

    def cause(self, target: str) -> str:
        """Return why a run is not sent now, in words; empty if the limit is not reached."""
        use = self.uses.get(target)
        return f"the limit of {target} ({use.limit}) is reached" if use is not None and self.free(target) <= 0 else ""

    def turn(self, target: str, withheld_before: int) -> float:
        """Return the seconds after which a withheld run can be sent, behind those that were withheld before it.

        Args:
            target: Target of the run.
            withheld_before: How often the run was withheld before. Its turn is unknown if only the concurrency is
                limited: the time doubles.
        """
        use = self.uses[target]
        if use.limit.per_second is None:
            return float(min(MAX_TURN_SECONDS, FIRST_TURN_SECONDS * 2 ** min(withheld_before, 5)))
        now = self.timer.monotonic()
        turn = max(use.turn, now + self.waiting_seconds) + 1 / self._per_second(use)
        use.turn = min(turn, now + MAX_TURN_SECONDS)
        return use.turn - now

    def _concurrent(self, use: _Use) -> int | None:
        """Return the part of this worker of the concurrent launches."""
        limit = use.limit.concurrent
        return None if limit is None else max(1, limit // self.workers(use.kind))

    def _per_second(self, use: _Use) -> float:
        return (use.limit.per_second or inf) / self.workers(use.kind)

    def _rate(self, use: _Use) -> tuple[int, float]:
        """Return how many launches of this worker can begin within how many seconds.

        A part such as 2.5 per second is 3 in 1.2 seconds: in no second more than the part, rounded up.
        """
        per_second = self._per_second(use)
        count = ceil(per_second)
        return count, count / per_second

    def _drop_old_starts(self, use: _Use, seconds: float) -> None:
        now = self.timer.monotonic()
        while use.starts and now - use.starts[0] >= seconds:
            use.starts.popleft()

    def _forget_idle(self) -> None:
        """Forget targets without launches. If most are in use, the next search waits until their number has doubled."""
        for target, use in list(self.uses.items()):
            if use.limit.per_second is not None:
                self._drop_old_starts(use, self._rate(use)[1])
            if not use.in_progress and not use.waiting and not use.starts:
                del self.uses[target]
        self.max_kept = max(MAX_KEPT_TARGETS, 2 * len(self.uses))


def _launches(count: float, adjective: str = "") -> str:
    return f"{count:g} {adjective}launch{'' if count == 1 else 'es'}"
