"""What the engine adds to a decision: `make bench-plan`.

A plan of a period that is due and on time, beside the bare decision of the same period, by turns, on the
same schedules: 200 expressions in 20 zones, a tenth with windows. Then a worker over the store in memory:
how many schedules, all due in the same second, it looks at, plans and settles a second on one core, and
how many with a launcher that answers at once.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from itertools import cycle, islice

from benchmarks.corpus import EXPRESSIONS, STARTS
from kron import decide, parse
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.launcher import Launch
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult
from kron.rules.plan import plan
from kron.rules.run import Run
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from kron.timing.period import Period, next_nominal
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import SERVICE

ROUNDS = 40
SCHEDULES = 20_000
ZONES = [
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Havana",
    "Africa/Cairo",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Europe/London",
    "America/Los_Angeles",
    "Asia/Shanghai",
    "Australia/Sydney",
    "Africa/Lagos",
    "Europe/Moscow",
    "Asia/Dubai",
    "America/Chicago",
    "Atlantic/Azores",
]
WINDOWS = ("@win(after,10m)", "@win(around,30m) @dist(skewLate)")


def schedules(count: int) -> list[Schedule]:
    """So many of them: expressions and zones by turns, every tenth with a window."""
    found = []
    for number, expression in enumerate(islice(cycle(EXPRESSIONS), count)):
        window = ""
        if number % 10 == 0:  # no longer than the time to the next period, as people want them
            window = "@win(after,40s)" if "*" in expression.split()[0] else WINDOWS[number // 10 % 2]
        zone = ZONES[number % 20 if number % 3 else 0]
        found.append(parse(f"{expression} @tz({zone}) {window}", dialect="kron"))
    return found


def beside() -> tuple[float, float, float]:
    """Microseconds of a decision, of a plan, and of a plan of a period with a window; the best round counts."""
    asked = []
    for number, (schedule, start) in enumerate(zip(schedules(len(STARTS)), STARTS, strict=True)):
        nominal = next_nominal(schedule, start)
        if nominal is None or next_nominal(schedule, nominal) is None:
            continue
        period, name = Period(nominal), f"acme/report-{number}"
        at = decide(schedule, period, name).chosen
        assert at is not None
        asked.append((schedule, period, name, ScheduleState(Job(name, schedule), 1, nominal - 1, 0), at * 1000 + 3))
    windowed = [one for one in asked if one[0].window.duration]
    decided, planned, wide = [], [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for schedule, period, name, _, _ in asked:
            decide(schedule, period, name)
        decided.append(time.perf_counter() - began)
        began = time.perf_counter()
        for _, _, _, case, now in asked:
            plan(case, now, owner="w1", lease=30_000)
        planned.append(time.perf_counter() - began)
        began = time.perf_counter()
        for _, _, _, case, now in windowed:
            plan(case, now, owner="w1", lease=30_000)
        wide.append(time.perf_counter() - began)
    micro = 1e6 / len(asked)
    return min(decided) * micro, min(planned) * micro, min(wide) * 1e6 / len(windowed)


class AtOnce:
    """A launcher whose target takes everything at once."""

    async def start(self, launch: Launch) -> LaunchResult:
        """Take it."""
        return LaunchResult.OK

    async def cancel(self, run: Run) -> None:
        """There is nothing to end."""


class Untouched(Worker):
    """A worker that settles, and leaves the sending to others."""

    async def tick(self) -> int:
        """One pass without its sends."""
        return (await self._pass()).pause


async def settled(kind: type[Worker]) -> float:
    """Ticks a second of one worker, with every schedule due in the same second."""
    due = 1_800_000_000
    store = MemoryStore(ManualClock(due - 10.0))
    schedule = replace(parse("* * * * *", dialect="kron"), policy=SERVICE)
    jobs = [Job(f"acme/report-{number}", schedule, target="at-once:") for number in range(SCHEDULES)]
    await store.commit(
        [ScheduleUpdate(None, ScheduleState(job, 1, due - 1, 0, next_check_at=due * 1000)) for job in jobs], 0
    )
    store.clock.advance(10.003)
    worker = kind(store, {"at-once": AtOnce()}, SystemTimer(), owner="w1", settings=Settings(batch=2_000))
    began = time.process_time()
    while not await worker.tick():
        pass
    taken = time.process_time() - began
    assert sum(len(runs) for runs in store.ledger.values()) == SCHEDULES
    return SCHEDULES / taken


def main() -> int:
    """Measure, print, and say whether it is enough."""
    decided, planned, wide = beside()
    print(f"decide                      {decided:6.2f} us")
    print(f"plan, on time               {planned:6.2f} us, {planned / decided:.2f} of decide; wanted less than 2")
    print(f"plan, on time, with window  {wide:6.2f} us")
    rate = max(asyncio.run(settled(Untouched)) for _ in range(3))
    print(f"look, plan, settle          {rate:6,.0f} ticks/s on one core; wanted 50,000")
    whole = max(asyncio.run(settled(Worker)) for _ in range(3))
    print(f"with launch and answer      {whole:6,.0f} ticks/s on one core")
    reached = [planned < 2 * decided, rate >= 50_000]
    print(f"{'PASS' if all(reached) else 'FALLS SHORT'}: {sum(reached)} of {len(reached)} targets reached")
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
