"""Trials: when the addresses of a held target are tried, so that an address that fails does not hold those that work.

A target is the host of a webhook, and an address is the whole target of a job, such as its URL. While a target is held,
each address is tried by itself: after half the longest hold if it was not tried yet, and after the longest hold if it
failed. The addresses of one target are tried one after the other. An address that works is not held.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

MAX_KNOWN_ADDRESSES = 10_000  # addresses whose trials are known; the least recent one is forgotten
TRIAL_INTERVAL_MS = 100  # milliseconds between the trials of two addresses of one target
MIN_PROBE_WAIT_MS = 1_000  # milliseconds that other runs wait at least while a probe is in progress

K = TypeVar("K")
V = TypeVar("V")


def put_latest(entries: OrderedDict[K, V], key: K, value: V, limit: int) -> V:
    """Put an entry behind the others, and drop the first one beyond the limit. Returns the value."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > limit:
        entries.popitem(last=False)
    return value


def probe_wait(sent: int, now: int) -> int:
    """Return how long other runs wait for a probe in progress, in milliseconds: longer, the longer it takes."""
    return max(MIN_PROBE_WAIT_MS, now - sent)


@dataclass(slots=True)
class _Trial:
    """Next trial of one address, or its last one. Times are in milliseconds."""

    at: int = 0  # when the address can be tried
    is_in_turn: bool = False  # whether `at` is behind the trials of the other addresses
    sent: int | None = None  # when the trial in progress was sent
    works: int | None = None  # when the address answered; None if its last launch failed, or it was not tried


class Trials:
    """Trials of the addresses of one worker. Times are milliseconds of the store's clock."""

    def __init__(self, longest: int, timeout: int) -> None:
        """Create the trials. `longest` is the longest hold, and `timeout` that of one launch, in milliseconds."""
        self.longest, self.timeout = longest, timeout
        self.trials: OrderedDict[tuple[str, str], _Trial] = OrderedDict()  # by target and address
        self.turns: OrderedDict[str, int] = OrderedDict()  # when the latest trial of a target is made

    def wait(self, target: str, address: str, now: int) -> int:
        """Return until when the runs of an address of a held target wait; `now` if one of them is to be sent."""
        trial = self.trials.get((target, address))
        if trial is not None and trial.works is not None and 0 <= now - trial.works < self.longest:
            return now
        if trial is None or trial.works is not None:
            return self._keep(target, address, _Trial(now + self.longest // 2)).at
        if trial.sent is not None and 0 <= now - trial.sent < 2 * self.timeout:
            return now + probe_wait(trial.sent, now)
        if trial.at <= now and not trial.is_in_turn:
            trial.at, trial.is_in_turn = max(now, self.turns.get(target, 0) + TRIAL_INTERVAL_MS), True
            put_latest(self.turns, target, trial.at, MAX_KNOWN_ADDRESSES)
        return max(now, trial.at)

    def begin(self, target: str, address: str, now: int) -> None:
        """Note that a run of a held target is sent."""
        trial = self.trials.get((target, address))
        if trial is None or trial.works is None:
            self._keep(target, address, _Trial(now, sent=now))

    def fail(self, target: str, address: str, now: int) -> None:
        """Note that a launch failed: the address can be tried again after the longest hold."""
        self._keep(target, address, _Trial(now + self.longest))

    def answer(self, target: str, address: str, now: int, *, is_held: bool) -> None:
        """Note that an address has answered. Only addresses of targets that are or were held are kept."""
        if is_held or (target, address) in self.trials:
            self._keep(target, address, _Trial(works=now))

    def withdraw(self, target: str, address: str, now: int) -> None:
        """Note that a launch says nothing about its target: another run of its address can be sent."""
        trial = self.trials.get((target, address))
        if trial is not None and trial.sent is not None:
            self._keep(target, address, _Trial(now))

    def _keep(self, target: str, address: str, trial: _Trial) -> _Trial:
        return put_latest(self.trials, (target, address), trial, MAX_KNOWN_ADDRESSES)
