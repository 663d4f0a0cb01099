"""The setting of one simulation: how long, how many, how bad. It follows from the seed alone."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

# A little before clocks change somewhere, so that they change while the simulation runs.
STARTS = {
    "Europe/Berlin": (1_774_735_200, 1_792_876_200),  # 2026-03-28T22:00Z, 2026-10-24T21:10Z
    "America/New_York": (1_772_946_000, 1_793_505_600),  # 2026-03-08T05:00Z, 2026-11-01T04:00Z
    "Australia/Lord_Howe": (1_775_307_600, 1_791_032_400),  # 2026-04-04T13:00Z, 2026-10-03T13:00Z
    "UTC": (1_798_750_800,),  # 2026-12-31T21:00Z
    "Asia/Kathmandu": (1_709_154_000,),  # 2024-02-28T21:00Z
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One simulation. Shares are from 0 to 1."""

    seed: int
    zone: str
    start: int
    faults: bool
    lossy: bool  # failovers that lose commits
    jumps: tuple[int, ...]  # seconds by which the store's clock may be set
    hours: float = 7.0
    calm: float = 1.0  # hours without faults at the end
    workers: int = 3
    schedules: int = 6
    tick: int = 10_000
    batch: int = 500
    lookahead: int = 0  # milliseconds
    strikes: float = 0.0
    calls_lost: float = 0.0
    answers_lost: float = 0.0
    sends_lost: float = 0.0
    reports_lost: float = 0.0
    between_faults: float = 45.0  # seconds
    between_requests: float = 400.0
    max_concurrent_launches: int = 20
    slow: float = 0.0  # seconds that a launch takes at most, each way
    mixed: bool = False  # workers that can launch different kinds of target
    deaf: bool = False  # an observer that fails now and then
    limited: bool = False  # schedules with limits of runs, failures, attempts, retries and time; runs fail more often

    @property
    def wild(self) -> bool:
        """Whether the store's clock may leave the targets' by more than the protocol promises to bear."""
        return bool(self.jumps) and max(map(abs, self.jumps)) > 1


def setting(seed: int, *, hours: float | None = None) -> Setting:
    """The setting of a seed: every tenth is calm, every fourth loses commits, every second has wild clocks."""
    random = Random(f"setting {seed}")
    zone = random.choice(sorted(STARTS))
    start = random.choice(STARTS[zone])
    calm, lossy = seed % 10 == 0, seed % 4 == 3
    tick, batch = random.choice([5_000, 10_000, 20_000, 20_000, 30_000]), random.choice([500, 500, 3])
    hours = random.choice([3.0, 7.0, 7.0, 11.0]) if hours is None else hours
    ahead = Random(f"lookahead {seed}").choice([0, 60_000, 600_000])
    if calm:
        return Setting(seed, zone, start, False, False, (), hours, tick=tick, batch=batch, lookahead=ahead)
    jumps = (-40, -5, -1, 1, 5, 40) if seed % 2 == 0 else (-1, 1)
    bad = random.choice([0.3, 1.0, 3.0])
    return Setting(
        seed,
        zone,
        start,
        True,
        lossy,
        jumps,
        hours,
        tick=tick,
        batch=batch,
        lookahead=ahead,
        strikes=0.001 * bad,
        calls_lost=0.004 * bad,
        answers_lost=0.004 * bad,
        sends_lost=0.02 * bad,
        reports_lost=0.1,
        between_faults=random.choice([20.0, 45.0, 90.0]),
        between_requests=random.choice([150.0, 400.0]),
        schedules=30 if seed % 9 == 5 else 6,
        max_concurrent_launches=2 if seed % 9 == 5 else 20,
        slow=1.5 if seed % 9 == 5 else 0.0,
        mixed=seed % 5 == 2,
        deaf=seed % 3 == 1,
        limited=seed % 7 == 6,
    )
