"""Reproducible sampling: seeds, the stream of draws, and distributions.

A draw `u` in [0, 1) comes from SplitMix64, seeded with the first eight bytes of the seed hash. A distribution maps it
to the position `x` in [0, 1] of the window. The formulas are part of the contract: a change moves the runs of every
user, and needs a new major version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import count
from math import expm1, log1p

from kron.timing.schedule.normal import mass_below, quantile

_MASK_64_BITS = (1 << 64) - 1
_MIN_DECAY = 1e-9  # a decay rate below this has no visible effect
_MIN_MASS = 1e-5  # a window with less mass of the bell than this is uniform, to one part in 10**10


class Strategy(StrEnum):
    """How often the seed changes: `stable` for each period, `daily` for each day, `weekly` for each ISO week."""

    STABLE = "stable"
    DAILY = "daily"
    WEEKLY = "weekly"


@dataclass(frozen=True, slots=True)
class Seed:
    """How the seed of a period is computed."""

    strategy: Strategy = Strategy.STABLE
    salt: str = ""

    def hash(self, identity: str, period_key: str) -> str:
        """Return the seed hash of one period, in hex."""
        return sha256(f"{identity}\n{period_key}\n{self.salt}".encode()).hexdigest()


def draw(seed_hash: str, n: int) -> float:
    """Return the n-th draw of a seed hash, in [0, 1). `n` counts from 1."""
    z = (int(seed_hash[:16], 16) + n * 0x9E3779B97F4A7C15) & _MASK_64_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK_64_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK_64_BITS
    return ((z ^ (z >> 31)) >> 11) / (1 << 53)


def draws(seed_hash: str) -> Iterator[float]:
    """Yield the draws of a seed hash in order, without end."""
    return (draw(seed_hash, n) for n in count(1))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform distribution: every second is equally likely."""

    name = "uniform"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Return the position of the draw `u` in the window, from 0 to 1."""
        return u

    def below(self, x: float, anchor: float, duration: int) -> float:
        """Return the probability of a position before `x`."""
        return x


@dataclass(frozen=True, slots=True)
class SkewEarly:
    """Distribution skewed to the start of the window; a larger shape skews more."""

    shape: float = 2.0
    name = "skewEarly"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Return the position of the draw `u` in the window, from 0 to 1."""
        return float(u**self.shape)

    def below(self, x: float, anchor: float, duration: int) -> float:
        """Return the probability of a position before `x`."""
        return float(x ** (1 / self.shape))


@dataclass(frozen=True, slots=True)
class SkewLate:
    """Distribution skewed to the end of the window; a larger shape skews more."""

    shape: float = 2.0
    name = "skewLate"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Return the position of the draw `u` in the window, from 0 to 1."""
        return float(1 - (1 - u) ** self.shape)

    def below(self, x: float, anchor: float, duration: int) -> float:
        """Return the probability of a position before `x`."""
        return float(1 - (1 - x) ** (1 / self.shape))


class Direction(StrEnum):
    """End of the window at which an exponential distribution has its peak."""

    EARLY = "early"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Exponential:
    """Exponential distribution from one end of the window, with the rate `decay` (lambda in the text) per window."""

    decay: float = 1.0
    lean: Direction = Direction.EARLY
    name = "exponential"

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Return the position of the draw `u` in the window, from 0 to 1."""
        x = u if self.decay < _MIN_DECAY else min(1.0, -log1p(u * expm1(-self.decay)) / self.decay)
        return x if self.lean is Direction.EARLY else 1 - x

    def below(self, x: float, anchor: float, duration: int) -> float:
        """Return the probability of a position before `x`."""
        if self.lean is Direction.LATE:
            return 1 - self._below_early(1 - x)
        return self._below_early(x)

    def _below_early(self, x: float) -> float:
        return x if self.decay < _MIN_DECAY else expm1(-self.decay * x) / expm1(-self.decay)


class Anchor(StrEnum):
    """Position of the mean of a normal distribution."""

    NOMINAL = "nominal"
    START = "start"
    MID = "mid"
    END = "end"


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal distribution truncated to the window. None means the default, which depends on the window."""

    mu: Anchor | None = None
    sigma: int | None = None  # nanoseconds
    name = "normal"

    def mean(self, anchor: float) -> float:
        """Return the position of the mean in the window; by default the middle, which is nominal for `around`."""
        if self.mu is Anchor.NOMINAL:
            return anchor
        return {Anchor.START: 0.0, Anchor.END: 1.0}.get(self.mu or Anchor.MID, 0.5)

    def spread(self, duration: int) -> float:
        """Return the standard deviation as a fraction of the window; by default 1/6."""
        return 1 / 6 if self.sigma is None else self.sigma / duration

    def place(self, u: float, anchor: float, duration: int) -> float:
        """Return the position of the draw `u` in the window, from 0 to 1."""
        mean, spread = self.mean(anchor), self.spread(duration)
        before, after = mass_below(-mean / spread), mass_below((mean - 1) / spread)  # mass outside the window
        inside = 1 - before - after
        if inside < _MIN_MASS:
            return u
        z = quantile(before + u * inside, after + (1 - u) * inside)
        return min(1.0, max(0.0, mean + spread * z))

    def below(self, x: float, anchor: float, duration: int) -> float:
        """Return the probability of a position before `x`."""
        mean, spread = self.mean(anchor), self.spread(duration)
        before, after = mass_below(-mean / spread), mass_below((mean - 1) / spread)
        inside = 1 - before - after
        return x if inside < _MIN_MASS else min(1.0, max(0.0, (mass_below((x - mean) / spread) - before) / inside))


Distribution = Uniform | SkewEarly | SkewLate | Exponential | Normal
UNIFORM = Uniform()
STABLE_SEED = Seed()
