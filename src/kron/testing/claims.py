"""Claims about schedules, for tests: when one fires, and that an outage loses nothing without a reason."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice, zip_longest

from kron.audit import audit
from kron.core.answer import Answer, Report
from kron.core.decision import decide
from kron.core.job import Job
from kron.core.period import periods
from kron.core.policy import APPLICATION, DECLARATIVE, KRON, SERVICE, Policy
from kron.core.run import Run
from kron.core.schedule import Schedule
from kron.core.zone import instant, moment
from kron.errors import KronError, did_you_mean
from kron.language import parse
from kron.launcher import Launch
from kron.registrar import Registrar
from kron.store import Store
from kron.stores.memory import MemoryStore
from kron.testing.clock import VirtualClock, VirtualTimer
from kron.testing.loop import run
from kron.testing.trip import instant_at
from kron.worker import Worker

IDENTITY = "test"
START = "2026-01-01 00:00"
MOST = 10_000  # runs of one outage
AHEAD = 1_000  # periods that are looked at to say that a schedule never fires
PRESETS = {"scheduler": APPLICATION, "kron": KRON, "service": SERVICE, "declarative": DECLARATIVE}

Time = str | datetime


def assert_fires(
    schedule: Schedule | str, times: Iterable[Time], *, after: Time, dialect: str = "kron", identity: str = IDENTITY
) -> None:
    """Whether a schedule fires at exactly these times, and no others between: the first ones later than `after`.

    Times are instants, or texts on the wall clock of the schedule; a text is read in `dialect`. No times at all mean
    that it never fires again, as far as 1,000 periods tell.
    """
    if isinstance(times, str | datetime):
        raise KronError("BAD_TIME", f"{times!r} is one time, not a list of them", hint="put it in brackets")
    wanted = _schedule(schedule, dialect, identity, KRON)
    home, expected = wanted.zone.name, list(times)
    begin = _instant(after, home)
    ahead = islice(periods(wanted, moment(begin)), 2 * len(expected) or AHEAD)
    fires = (at for period in ahead if (at := decide(wanted, period, identity).at) is not None)
    found = sorted(fires)[: len(expected)] if expected else list(islice(fires, 1))
    asked = [_instant(time, home) for time in expected]
    if found != asked:
        lines = [_compared(a, b, wanted) for a, b in zip_longest(asked, found)]
        raise AssertionError("\n".join(["the schedule fires at other times (wanted, found):", *lines]))


def assert_survives(
    schedule: Schedule | str,
    outage: tuple[Time, Time] | timedelta,
    *,
    expect: str | None = None,
    dialect: str = "kron",
    start: Time = START,
    preset: str = "scheduler",
) -> str:
    """Whether every period has one answer with a reason though nobody is there for a while; what became of them.

    `outage` is from when to when, or how long from `start` on. `expect` is what is to become of the periods, such as
    `1 executed, 3 missed (coalesced)`. `preset` is the policy that the text starts from: `scheduler` as in Scheduler,
    `kron`, `service` or `declarative`. A Schedule has its own policy, and no preset.
    """
    if preset not in PRESETS:
        hint = did_you_mean(str(preset), PRESETS, f"it is {', '.join(PRESETS)}")
        raise KronError("UNKNOWN_PRESET", f"there is no preset {preset!r}", hint=hint)
    wanted = _schedule(schedule, dialect, IDENTITY, PRESETS[preset])
    home = wanted.zone.name
    if isinstance(outage, timedelta):
        down = _instant(start, home)
        up = down + int(outage.total_seconds())
    else:
        down, up = _instant(outage[0], home), _instant(outage[1], home)
    story, sound = run(_lived(wanted, down, up))
    if not sound:
        raise AssertionError(f"a period has no answer, or two: {story}")
    if expect is not None and story != expect:
        raise AssertionError(f"the outage ends otherwise: {story}; expected {expect}")
    return story


class _Target:
    """Starts everything, and says that it has ended."""

    def __init__(self, registrar: Registrar) -> None:
        self.registrar, self.tasks = registrar, set[asyncio.Task[bool]]()

    async def start(self, launch: Launch) -> Answer:
        ending = asyncio.create_task(self.registrar.report(launch.run.key, Report.SUCCESS))
        self.tasks.add(ending)
        return Answer.OK

    async def cancel(self, run: Run) -> None:
        return


async def _lived(schedule: Schedule, down: int, up: int) -> tuple[str, bool]:
    """A life up to the outage, the outage, and a minute of the life after it."""
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
    return await _story(store), all([account.sound async for account in audit(store, [IDENTITY])])


async def _story(store: Store) -> str:
    counts: Counter[str] = Counter()
    for gap in await store.gaps(IDENTITY):
        counts[f"{gap.verdict} ({gap.reason})"] += gap.count
    for one in await store.runs(IDENTITY, MOST):
        counts[f"{one.verdict} ({one.reason})" if one.reason else str(one.verdict or one.state)] += 1
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "nothing"


def _schedule(schedule: Schedule | str, dialect: str, identity: str, policy: Policy) -> Schedule:
    if isinstance(schedule, Schedule):
        return schedule
    return parse(schedule, dialect=dialect, identity=identity if dialect == "fuzzy" else "", policy=policy)


def _instant(time: Time, home: str) -> int:
    return instant(time) if isinstance(time, datetime) else instant_at(time, home)


def _compared(wanted: int | None, found: int | None, schedule: Schedule) -> str:
    mark = "  " if wanted == found else "! "
    left, right = ("never" if time is None else schedule.zone.wall(time).text for time in (wanted, found))
    return f"{mark}{left:26}   {right}"
