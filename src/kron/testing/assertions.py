"""Assertions about schedules, for tests: when a schedule fires, and the outcomes of its periods after an outage."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import zip_longest

from kron.engine.audit import audit
from kron.engine.launcher import Launch
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.engine.worker import Worker
from kron.errors import InvalidSchedule, UsageError, did_you_mean
from kron.language.options import Options
from kron.language.reading import read
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run import Run
from kron.stores.memory import MemoryStore
from kron.testing.clock import VirtualClock, VirtualTimer
from kron.testing.loop import run
from kron.testing.time_travel import instant_at
from kron.timing.job import Job
from kron.timing.schedule import Schedule
from kron.timing.schedule.policy import APPLICATION, DECLARATIVE, KRON, SERVICE, Policy
from kron.timing.upcoming import MAX_PERIODS_DECIDED
from kron.timing.upcoming_runs import upcoming_runs
from kron.timing.zone import instant

IDENTITY = "test"
DIALECT = "kron"  # dialect of a schedule text that names none
START = "2026-01-01 00:00"
MAX_RUNS_READ = 10_000  # runs that are read from the store after an outage
MAX_PERIODS_CHECKED = 1_000  # periods that are checked before a schedule is said never to fire
PRESETS = {"scheduler": APPLICATION, "kron": KRON, "service": SERVICE, "declarative": DECLARATIVE}

Time = str | datetime


def assert_fires(
    schedule: Schedule | str,
    times: Iterable[Time],
    *,
    after: Time,
    dialect: str | None = None,
    identity: str = IDENTITY,
) -> None:
    """Assert that the first times after `after` at which a schedule fires are exactly `times`.

    Args:
        schedule: The schedule, or its text in `dialect`.
        times: Expected times in order: instants, or texts in local time of the schedule's time zone. An empty list
            means that the schedule never fires again; 1,000 periods are checked. Otherwise, up to 20,000 periods are
            checked for a time that satisfies the constraints. Adjacent periods that the constraints close count as one.
        after: Fire times later than this time are compared, also if the nominal time of the period is earlier.
        dialect: Dialect of a schedule text that names none; `kron` by default.
        identity: Identity that seeds the decisions.

    Raises:
        AssertionError: The schedule fires at other times.
        InvalidSchedule: `times` is a single time, or a text is invalid.
    """
    if isinstance(times, str | datetime):
        raise InvalidSchedule("BAD_TIME", f"times is the single time {times!r}, not a list", hint="put it in brackets")
    parsed = _schedule(schedule, dialect, identity, KRON)
    zone_name, expected = parsed.zone.name, list(times)
    start = _instant(after, zone_name)
    most = MAX_PERIODS_DECIDED if expected else MAX_PERIODS_CHECKED
    search = upcoming_runs(parsed, identity, start, len(expected) or 1, most)
    actual = [run.decision.chosen for run in search.runs]
    expected_instants = [_instant(time, zone_name) for time in expected]
    if actual != expected_instants:
        lines = [_comparison_line(a, b, parsed) for a, b in zip_longest(expected_instants, actual)]
        raise AssertionError("\n".join(["the schedule fires at other times (expected, found):", *lines]))


def assert_survives(
    schedule: Schedule | str,
    outage: tuple[Time, Time] | timedelta,
    *,
    expect: str | None = None,
    dialect: str | None = None,
    start: Time = START,
    preset: str = "scheduler",
) -> str:
    """Assert that every period has exactly one outcome after an outage in which no worker runs.

    Args:
        schedule: The schedule, or its text in `dialect`. A Schedule has its own policy, and `preset` is ignored.
        outage: Start and end of the outage, or its length from `start` on.
        expect: Expected summary of the outcomes, such as `1 executed, 3 missed (coalesced)`; None accepts any.
        dialect: Dialect of a schedule text that names none; `kron` by default.
        start: Start of the outage if `outage` is a length.
        preset: Policy preset of a schedule text: `scheduler` (as in Scheduler), `kron`, `service` or `declarative`.

    Returns:
        The summary of the outcomes.

    Raises:
        AssertionError: A period has no outcome or two, or the summary differs from `expect`.
        UsageError: The preset is unknown. An invalid text raises `InvalidSchedule`.
    """
    if preset not in PRESETS:
        hint = did_you_mean(str(preset), PRESETS, f"use one of {', '.join(PRESETS)}")
        raise UsageError("UNKNOWN_PRESET", f"unknown preset {preset!r}", hint=hint)
    parsed = _schedule(schedule, dialect, IDENTITY, PRESETS[preset])
    down, up = _outage(outage, start, parsed.zone.name)
    summary, sound = run(_simulate_outage(parsed, down, up))
    if not sound:
        raise AssertionError(f"a period has no outcome, or two: {summary}")
    if expect is not None and summary != expect:
        raise AssertionError(f"outcomes after the outage: {summary}; expected: {expect}")
    return summary


def _outage(outage: tuple[Time, Time] | timedelta, start: Time, zone_name: str) -> tuple[int, int]:
    """Return the start and the end of an outage."""
    if isinstance(outage, timedelta):
        down = _instant(start, zone_name)
        return down, down + int(outage.total_seconds())
    return _instant(outage[0], zone_name), _instant(outage[1], zone_name)


class _Target:
    """Launcher that accepts every run and reports its success."""

    def __init__(self, registrar: Registrar) -> None:
        self.registrar, self.tasks = registrar, set[asyncio.Task[bool]]()

    async def start(self, launch: Launch) -> LaunchResult:
        ending = asyncio.create_task(self.registrar.report(launch.run.key, Report.SUCCESS))
        self.tasks.add(ending)
        return LaunchResult.OK

    async def cancel(self, run: Run) -> None:
        return


async def _simulate_outage(schedule: Schedule, down: int, up: int) -> tuple[str, bool]:
    """Run a worker for the minute before the outage, none during it, and a second worker until a minute after it."""
    loop = asyncio.get_running_loop()
    clock, timer = VirtualClock(loop, float(down - 60)), VirtualTimer(loop)
    store = MemoryStore(clock)
    registrar = Registrar(store)
    await registrar.upsert(Job(IDENTITY, schedule, target="test:it"))
    for life, until in ((1, down), (2, up + 60)):
        worker = Worker(store, {"test": _Target(registrar)}, timer, owner=f"life {life}")
        stop = asyncio.Event()
        working = asyncio.create_task(worker.run(stop))
        await asyncio.sleep(until - clock.now())
        stop.set()
        await working
        if life == 1:
            await asyncio.sleep(up - clock.now())
    return await _outcome_summary(store), all([result.sound async for result in audit(store, [IDENTITY])])


async def _outcome_summary(store: Store) -> str:
    counts: Counter[str] = Counter()
    for gap in await store.gaps(IDENTITY):
        counts[f"{gap.outcome} ({gap.reason})"] += gap.count
    for record in await store.runs(IDENTITY, MAX_RUNS_READ):
        counts[f"{record.outcome} ({record.reason})" if record.reason else str(record.outcome or record.state)] += 1
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "nothing"


def _schedule(schedule: Schedule | str, dialect: str | None, identity: str, policy: Policy) -> Schedule:
    if isinstance(schedule, Schedule):
        return schedule
    return read(schedule, dialect, Options(policy=policy, identity=identity), default=DIALECT).schedule


def _instant(time: Time, home: str) -> int:
    return instant(time) if isinstance(time, datetime) else instant_at(time, home)


def _comparison_line(expected: int | None, actual: int | None, schedule: Schedule) -> str:
    mark = "  " if expected == actual else "! "
    left, right = ("never" if time is None else schedule.zone.wall(time).text for time in (expected, actual))
    return f"{mark}{left:26}   {right}"
