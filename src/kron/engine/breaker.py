"""Circuit breaker: a worker holds a target after many failed launches in a row, and tries it again with one launch.

A breaker only delays. Held runs go back to `retry`, and this is not an attempt. A run that would pass its deadline or
reach the next period of its schedule while it is held is sent anyway: at once if it was never sent, otherwise at the
last moment. When the hold ends, one launch is the probe: if it succeeds, the target is released; if it fails, the next
hold is twice as long, up to a maximum. Runs that have not failed yet return first. An address that works is not held
for longer than the maximum, whatever other addresses of the same target do (`trials`). Runs of one address cannot be
told apart: while the longest holds go on, the number of probes doubles. Each worker has its own breakers, in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from kron.engine.claim import Claim
from kron.engine.events import Event, Sink
from kron.engine.latest_return import latest_return
from kron.engine.settings import Settings
from kron.engine.trials import Trials, probe_wait, put_latest
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.outcome import Reason
from kron.rules.run import Run
from kron.timing.zone import rfc3339

MAX_COUNTED_TARGETS = 10_000  # targets whose failures are counted; the least recent one is forgotten
RETURN_INTERVAL_MS = 10  # milliseconds between the returns of two held runs: the first one is the probe
MAX_RETURN_MS = 2_000  # milliseconds after the hold until which all held runs return
FAILED_RETURN_SHARE = 10  # a run whose launch failed returns a tenth of the hold later: others are probes before it
MIN_HOLD_MS = 1_000  # milliseconds: a run that cannot be held for so long is sent
SINGLE_PROBES = 3  # longest holds after each of which one probe is sent; later ones are followed by 2, 4, 8...
MAX_PROBES = 32  # probes after one hold
FAILURES = frozenset({LaunchResult.RETRYABLE, LaunchResult.UNKNOWN})


class Hold(NamedTuple):
    """Why a run is not sent, and until when, in milliseconds."""

    until: int
    cause: str


@dataclass(slots=True)
class _Breaker:
    """Failed launches of one target in a row. It is open, and the target held, if `hold` is not 0."""

    failures: int = 0
    hold: int = 0  # milliseconds: length of the hold
    until: int = 0  # milliseconds: end of the hold
    held: int = 0  # runs that were held in this hold
    probe: int | None = None  # milliseconds: when the latest probe was sent
    sent: int = 0  # probes that were sent after this hold
    failed: int = 0  # those of them that failed
    longest: int = 0  # longest holds whose probes failed
    keys: set[str] = field(default_factory=set)  # of two runs that were held; more need not be known

    def holds_others(self, key: str) -> bool:
        """Note that a run is held. Returns whether another one was held before."""
        if len(self.keys) < 2:
            self.keys.add(key)
        return bool(self.keys - {key})

    @property
    def probes(self) -> int:
        """How many probes follow this hold. They must all fail before the next hold begins."""
        return min(MAX_PROBES, 1 << max(0, min(self.longest, MAX_PROBES) - SINGLE_PROBES + 1))

    def is_in_force(self, now: int, timeout: int) -> bool:
        """Return whether the target is held: until its runs have returned, and while a probe is in progress."""
        returned = self.until + MAX_RETURN_MS + self.hold // FAILED_RETURN_SHARE
        is_probing = self.probe is not None and now - self.probe < timeout
        return self.hold > 0 and (now < returned or is_probing)


class Breakers:
    """Circuit breakers of one worker, by target. Times are milliseconds of the store's clock."""

    def __init__(self, settings: Settings, sink: Sink) -> None:
        self.settings, self.sink = settings, sink
        self.breakers: OrderedDict[str, _Breaker] = OrderedDict()  # targets whose last launch failed
        self.trials = Trials(settings.breaker_max_hold, settings.timeout)

    def hold(self, claim: Claim, now: int) -> Hold | None:
        """Return the hold of a run; None if it is to be sent now, perhaps as the probe."""
        breaker = self.breakers.get(claim.target)
        if breaker is None or not breaker.hold:
            return None
        until = self._until(breaker, now)
        trial_at = until if until <= now else self.trials.wait(claim.target, claim.job.target, now)
        if min(until, trial_at) <= now:
            return None
        until, is_trial = min(until, trial_at), trial_at < until
        return_at = until if is_trial else until + min(RETURN_INTERVAL_MS * breaker.held, MAX_RETURN_MS)
        gives_way = breaker.holds_others(claim.run.key) and _has_failed(claim.run) and not is_trial
        later = breaker.hold // FAILED_RETURN_SHARE if gives_way else 0
        latest = latest_return(claim, now, return_at + later)
        if latest < return_at and (claim.run.launch_tries <= 1 or latest < now + MIN_HOLD_MS):
            return None
        breaker.held += 1
        held_until = f"until {rfc3339(-(-min(until, latest) // 1000))}"
        if breaker.probe is not None:  # Kron cannot know when its result arrives
            held_until = "and waits for the result of its probe"
        return Hold(latest, f"the worker holds {claim.target} after {breaker.failures} failed launches, {held_until}")

    def begin(self, target: str, now: int, address: str = "") -> None:
        """Note that a run is sent: it is a probe if the hold of its target has ended."""
        breaker = self.breakers.get(target)
        if breaker is not None and breaker.hold:
            self.trials.begin(target, address, now)
            if self._until(breaker, now) <= now:
                breaker.probe, breaker.held, breaker.sent = now, 0, breaker.sent + 1

    def record(self, target: str, response: LaunchResponse, now: int, address: str = "") -> None:
        """Count the result of a launch.

        A target that rejects a run works: an answer with a status ends the series of failures. A rejection without a
        status, and a run that was not sent, say nothing about the target.
        """
        if response.result in FAILURES:
            self._count_failure(target, now, address)
        elif response.result is LaunchResult.OK or (
            response.result is LaunchResult.REJECTED and response.code is not None
        ):
            breaker = self.breakers.pop(target, None)
            is_held = breaker is not None and breaker.hold > 0
            self.trials.answer(target, address, now, is_held=is_held)
            if breaker is not None and is_held:
                self.sink(Event("breaker_closed", now, self._facts(target, breaker, now)))
        elif target in self.breakers:
            breaker = self.breakers[target]
            breaker.probe, breaker.sent = None, max(0, breaker.sent - 1)
            self.trials.withdraw(target, address, now)

    def count(self, now: int) -> int:
        """Return how many targets are held now. A hold that has passed, and for which no run returned, is over."""
        return sum(each.is_in_force(now, self.settings.timeout) for each in self.breakers.values())

    def _count_failure(self, target: str, now: int, address: str) -> None:
        limit, settings = self.settings.breaker_failures, self.settings
        if not limit:
            return
        self.trials.fail(target, address, now)
        breaker = put_latest(self.breakers, target, self.breakers.get(target) or _Breaker(), MAX_COUNTED_TARGETS)
        breaker.failures += 1
        if not breaker.hold:
            if breaker.failures >= limit:
                self._begin_hold(breaker, settings.breaker_hold, now)
                self.sink(Event("breaker_opened", now, self._facts(target, breaker, now)))
        elif breaker.probe is not None:
            breaker.failed += 1
            if breaker.failed >= breaker.probes:
                breaker.longest += breaker.hold >= settings.breaker_max_hold
                self._begin_hold(breaker, min(breaker.hold * 2, settings.breaker_max_hold), now)

    def _begin_hold(self, breaker: _Breaker, length: int, now: int) -> None:
        breaker.hold, breaker.until, breaker.held, breaker.probe = length, now + length, 0, None
        breaker.sent = breaker.failed = 0

    def _until(self, breaker: _Breaker, now: int) -> int:
        """Return until when runs are held: the end of the hold, and while the probes are in progress, a little longer.

        A clock that was set back does not extend a hold. A probe without a result does not block the next one.
        """
        if now < breaker.until <= now + breaker.hold:
            return breaker.until
        if breaker.probe is None or breaker.sent < breaker.probes:
            return now
        return now + probe_wait(breaker.probe, now) if 0 <= now - breaker.probe < 2 * self.settings.timeout else now

    def _facts(self, target: str, breaker: _Breaker, now: int) -> dict[str, str | int]:
        return {"target": target, "failures": breaker.failures, "until": breaker.until, "held": self.count(now)}


def _has_failed(run: Run) -> bool:
    """Return whether an earlier launch of a run failed, so that other runs are better probes."""
    return run.maybe_delivered or run.reason is Reason.LAUNCH_FAILED
