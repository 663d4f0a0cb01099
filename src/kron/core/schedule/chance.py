"""Chance that everyone can repeat: seeds, the stream of draws, and the shapes that draws are put into.

A draw `u` in [0, 1) comes from SplitMix64, started with the first eight bytes of the seed hash, and a
distribution places it at `x` in [0, 1] of the window. The formulas are part of the contract: changing
one moves the runs of every user, and needs a new major version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import count
from math import expm1, log1p

from kron.core.schedule.normal import mass_below, quantile

_MASK = (1 << 64) - 1
_EVEN = 1e-9  # a rate of decay below this does not show
_FLAT = 1e-5  # a window with less of the bell than this is even, to one part in 10**10


class Strategy(StrEnum):
    """What a seed is drawn anew for: each period, each day, or each ISO week."""

    STABLE = "stable"
    DAILY = "daily"
    WEEKLY = "weekly"


@dataclass(frozen=True, slots=True)
class Seed:
    """How the seed of a period is made."""

    strategy: Strategy = Strategy.STABLE
    salt: str = ""

    def hash(self, identity: str, period_key: str) -> str:
        """The seed hash of one period, in hex."""
        return sha256(f"{identity}\n{period_key}\n{self.salt}".encode()).hexdigest()


def draw(seed_hash: str, n: int) -> float:
    """The n-th draw in [0, 1) that a seed hash stands for, from 1."""
    z = (int(seed_hash[:16], 16) + n * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) / (1 << 53)


def draws(seed_hash: str) -> Iterator[float]:
    """The endless stream of those draws."""
    return (draw(seed_hash, n) for n in count(1))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every second alike."""

    name = "uniform"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Where in the window the draw falls."""
        return u

    def below(self, x: float, anchor: float, duration: int) -> float:
        """The chance of a place before `x`."""
        return x


@dataclass(frozen=True, slots=True)
class SkewEarly:
    """Towards the start of the window; the larger the shape, the more so."""

    shape: float = 2.0
    name = "skewEarly"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Where in the window the draw falls."""
        return float(u**self.shape)

    def below(self, x: float, anchor: float, duration: int) -> float:
        """The chance of a place before `x`."""
        return float(x ** (1 / self.shape))


@dataclass(frozen=True, slots=True)
class SkewLate:
    """Towards the end of the window; the larger the shape, the more so."""

    shape: float = 2.0
    name = "skewLate"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Where in the window the draw falls."""
        return float(1 - (1 - u) ** self.shape)

    def below(self, x: float, anchor: float, duration: int) -> float:
        """The chance of a place before `x`."""
        return float(1 - (1 - x) ** (1 / self.shape))


class Lean(StrEnum):
    """Which end of the window an exponential distribution starts from."""

    EARLY = "early"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Exponential:
    """Falling off from one end of the window at a rate of `decay` (lambda in the text) per window."""

    decay: float = 1.0
    lean: Lean = Lean.EARLY
    name = "exponential"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Where in the window the draw falls."""
        x = u if self.decay < _EVEN else min(1.0, -log1p(u * expm1(-self.decay)) / self.decay)
        return x if self.lean is Lean.EARLY else 1 - x

    def below(self, x: float, anchor: float, duration: int) -> float:
        """The chance of a place before `x`."""
        if self.lean is Lean.LATE:
            return 1 - self._early(1 - x)
        return self._early(x)

    def _early(self, x: float) -> float:
        return x if self.decay < _EVEN else expm1(-self.decay * x) / expm1(-self.decay)


class Anchor(StrEnum):
    """What the mean of a normal distribution is set on."""

    NOMINAL = "nominal"
    START = "start"
    MID = "mid"
    END = "end"


@dataclass(frozen=True, slots=True)
class Normal:
    """A bell cut off at the ends of the window. None stands for the default, which the window decides."""

    mu: Anchor | None = None
    sigma: int | None = None  # nanoseconds
    name = "normal"

    def mean(self, anchor: float) -> float:
        """Where in the window the mean lies: by default in the middle, which for `around` is nominal."""
        if self.mu is Anchor.NOMINAL:
            return anchor
        return {Anchor.START: 0.0, Anchor.END: 1.0}.get(self.mu or Anchor.MID, 0.5)

    def spread(self, duration: int) -> float:
        """The standard deviation as a share of the window: by default a sixth."""
        return 1 / 6 if self.sigma is None else self.sigma / duration

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Where in the window the draw falls."""
        mean, spread = self.mean(anchor), self.spread(duration)
        low, high = mass_below(-mean / spread), mass_below((mean - 1) / spread)  # cut off below and above
        kept = 1 - low - high
        if kept < _FLAT:
            return u
        z = quantile(low + u * kept, high + (1 - u) * kept)
        return min(1.0, max(0.0, mean + spread * z))

    def below(self, x: float, anchor: float, duration: int) -> float:
        """The chance of a place before `x`."""
        mean, spread = self.mean(anchor), self.spread(duration)
        low, high = mass_below(-mean / spread), mass_below((mean - 1) / spread)
        kept = 1 - low - high
        return x if kept < _FLAT else min(1.0, max(0.0, (mass_below((x - mean) / spread) - low) / kept))


Distribution = Uniform | SkewEarly | SkewLate | Exponential | Normal
EVEN = Uniform()
EACH_PERIOD = Seed()
