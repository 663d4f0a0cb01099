"""Scenarios: random registrations, durations, failures, crashes and clock jumps, around days when clocks change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from zoneinfo import ZoneInfo

BASES = (
    ("2026-03-29T01:00", "Europe/Berlin"),
    ("2026-10-25T01:00", "Europe/Berlin"),
    ("2026-03-08T07:00", "America/New_York"),
    ("2026-11-01T06:00", "America/New_York"),
    ("2026-04-04T15:00", "Australia/Lord_Howe"),  # half an hour
    ("2026-10-03T15:30", "Australia/Lord_Howe"),
    ("2026-04-23T22:00", "Africa/Cairo"),  # there is no midnight
    ("2026-02-28T23:30", "UTC"),
    ("2024-02-29T06:15", "Asia/Kathmandu"),
)
DELAYS = (0, 5_000, 30_000, 60_000, 150_000, 420_000, 3_600_000)
EXPRESSIONS = 40  # for each base


@dataclass(frozen=True, slots=True)
class Base:
    """Where and when: a moment worth living through."""

    moment: str
    zone: str

    @property
    def date(self) -> str:
        return self.moment[:10]

    @property
    def instant(self) -> int:
        return int(datetime.fromisoformat(self.moment).replace(tzinfo=UTC).timestamp()) * 1000


@lru_cache
def expressions(base: Base) -> tuple[str, ...]:
    """Expressions that have something to do around that moment."""
    random = Random(base.moment)
    wall = datetime.fromtimestamp(base.instant / 1000, ZoneInfo(base.zone))
    hours = [(wall.hour + n) % 24 for n in range(-2, 3)]
    found = ["* * * * *", "0,15,30,45 * * * *", "0-59 * * * *", "30 2 * * *", f"30 {wall.hour} * * *"]
    while len(found) < EXPRESSIONS:
        minutes = sorted(random.sample(range(60), random.choice((1, 1, 2, 4, 9))))
        hour = random.choice(("*", str(random.choice(hours)), f"{min(hours)}-{max(hours)}"))
        day = random.choice(("*", "*", "*", str(wall.day), "1,15"))
        weekday = random.choice(("*", "*", "*", str(wall.isoweekday() % 7), "1-5"))
        found.append(
            f"{','.join(map(str, minutes))} {hour} {day} {random.choice(('*', '*', str(wall.month)))} {weekday}"
        )
    return tuple(found)


Definition = tuple[str, str, int]  # name, expression, delay in milliseconds


class Scenario:
    """All the chances of one trace: the same seed, the same chances."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.base = Base(*random.choice(BASES))
        self.start = self.base.instant + random.randrange(-5_400_000, 3_600_000)
        self.latency = random.choice((0, 0, 0, 20))
        self.names = "abc"[: random.choice((1, 1, 2, 3))]
        self.failing = {name: random.choice((0.0, 0.3, 0.7)) for name in self.names}
        self.long = {name: random.random() < 0.4 for name in self.names}
        self.definitions = {name: self.definition(name) for name in self.names}
        self.steps = random.randrange(5, 11)

    def definition(self, name: str) -> Definition:
        known = expressions(self.base)
        return name, known[0 if self.random.random() < 0.2 else self.random.randrange(EXPRESSIONS)], self.delay()

    def delay(self) -> int:
        return self.random.choice(DELAYS)

    def registrations(self) -> list[Definition]:
        """What the next life registers: as before, or with a task changed, dropped or taken up again."""
        for name in self.names:
            if self.random.random() < 0.2:
                self.definitions[name] = self.definition(name)
        return [self.definitions[name] for name in self.names if self.random.random() < 0.9]

    def duration(self, name: str) -> float:
        """How many seconds a callback takes."""
        random = self.random
        if self.long[name]:
            return random.choice((random.randrange(0, 5_000), random.randrange(10_000, 480_000))) / 1000
        return random.choice((0, random.randrange(0, 90_000))) / 1000

    def jump(self) -> int:
        """By how many milliseconds the clock is set."""
        random = self.random
        kind = random.random()
        if kind < 0.6:
            return random.randrange(1_000, 10_800_000)
        return 86_400_000 if kind < 0.7 else -random.randrange(1_000, 5_400_000)
