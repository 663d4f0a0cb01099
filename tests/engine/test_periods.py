"""Periods of one schedule: each line says what `why` says of its period, and the coming lines are the next runs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.engine.period_report import Absence
from kron.engine.periods import MAX_PERIODS, periods, periods_around
from kron.engine.why import why
from kron.errors import InvalidInput, NotFound
from kron.rules.launch_result import LaunchResult
from kron.rules.outcome import Outcome, Reason
from kron.rules.upcoming import upcoming
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON, MINUTE, SECOND, SERVICE, Catchup, Overlap, Resume
from kron.timing.schedule.window import SECOND as NANOSECONDS
from kron.timing.upcoming import time_of
from kron.timing.upcoming_runs import upcoming_runs
from kron.timing.zone import instant_of, rfc3339
from tests.engine.world import World, play

HOUR = 3_600
ZONES = {  # a zone, and the day before its clocks change
    "UTC": "2026-03-01",
    "Europe/Paris": "2026-03-28",
    "America/New_York": "2026-10-31",
    "Australia/Lord_Howe": "2026-04-04",  # half an hour
    "Africa/Casablanca": "2026-02-14",
    "Asia/Kathmandu": "2026-03-01",  # 5:45
}
HEADS = ["0 * * * *", "30 */2 * * *", "*/20 1-4 * * *", "10 2 * * *", "0,50 */3 * * SUN,MON"]
TAILS = [
    "",
    "@win(after,90m)",
    "@win(around,3h)",
    "@win(around,40m) @only(hours=1-3)",
    "@avoid(hours=2)",
]
POLICIES = [
    KRON,
    SERVICE,
    replace(SERVICE, jitter=7 * MINUTE),
    replace(SERVICE, resume=Resume.BY_DEADLINE, deadline=30 * MINUTE),
    replace(SERVICE, resume=Resume.DROP, overlap=Overlap.ALLOW),
    replace(KRON, max_runs=5, catchup=Catchup.ALL),
    replace(SERVICE, catchup=Catchup.ALL, catchup_limit=2, retry_after=HOUR * SECOND, retry_attempts=1),
    replace(SERVICE, suspend=True),
]
texts = st.tuples(*map(st.sampled_from, (HEADS, TAILS))).map(" ".join)
seconds = st.sampled_from([0, 1, 600, 1_799, HOUR, 3 * HOUR + 1, 9 * HOUR])
steps = st.one_of(
    st.tuples(st.just("work"), seconds),
    st.tuples(st.just("sleep"), seconds),
    st.tuples(st.just("define"), texts, st.sampled_from(POLICIES)),
    st.tuples(st.just("pause"), st.none() | seconds),
    st.tuples(st.just("resume")),
    st.tuples(st.just("trigger")),
    st.tuples(st.just("backfill"), seconds),
    st.tuples(st.just("delete")),
)


class Life:
    """A schedule to which things happen."""

    def __init__(self, zone):
        answers = [LaunchResult.OK, LaunchResult.RETRYABLE, LaunchResult.REJECTED, LaunchResult.UNSENT] * 3
        self.world, self.zone = World(f"{ZONES[zone]}T20:17:31Z", duration=500, answers=answers), zone
        self.start, self.requests = self.now(), 0

    def now(self):
        return int(self.world.clock.now())

    async def define(self, text, policy):
        tz = "" if self.zone == "UTC" else f" @tz({self.zone})"
        whole = parse(text + tz, dialect="kron")
        end = self.now() + 30 * HOUR if policy.max_runs else None
        await self.world.registrar.upsert(Job("job", replace(whole, policy=policy), target="test:it", end=end))

    async def step(self, name, *args):
        world, registrar = self.world, self.world.registrar
        self.requests += 1
        match name:
            case "work":
                await world.run(self.now() + args[0])
            case "sleep":
                world.sleep(float(self.now() + args[0]))
            case "define":
                await self.define(*args)
            case "pause" if args[0] != 0:
                until = None if args[0] is None else (self.now() + args[0]) * 1000
                await registrar.pause("job", until=until)
            case "trigger":
                await registrar.trigger("job", f"r{self.requests}")
            case "backfill":
                await registrar.backfill("job", self.now() - args[0], self.now(), f"b{self.requests}")
            case "resume" | "delete":
                await getattr(registrar, name)("job")

    async def happen(self, happened):
        for step in happened:
            try:
                await self.step(*step)
            except NotFound:  # it was deleted
                continue


def seen(report):
    record = report.run or report.gap
    return (
        report.period,
        report.summary(),
        record and record.outcome,
        record and record.reason,
        report.revision.number,
        report.run and report.run.key,
        report.absence,
    )


def shown(line):
    outcome = line.outcome, line.reason
    return line.period, line.text, *outcome, line.revision.number, line.run and line.run.key, line.absence


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(sorted(ZONES)),
    texts,
    st.sampled_from(POLICIES),
    st.lists(steps, max_size=9),
    st.sampled_from([0, 20]),
)
def test_every_line_says_what_why_says_of_its_period(zone, text, policy, happened, later):
    async def scene():
        life = Life(zone)
        await life.define(text, policy)
        await life.happen(happened)
        store, first, last = life.world.store, life.start - 2 * HOUR, life.now() + later * HOUR
        lines = await periods(store, "job", first, last)
        end = lines[-1].period.nominal if len(lines) >= MAX_PERIODS else last
        expected = []
        for second in range(-(-first // 300) * 300, end + 1, 300):  # no text and no zone has other minutes
            told = await why(store, "job", second * 1000)
            if told.period.nominal == second and told.run is None and told.absence is not Absence.INVALID:
                expected.append(seen(told))
        runs = [run for run in await store.runs("job", 10_000) if first <= run.nominal <= end]
        expected += [seen(await why(store, "job", 0, run_key=run.key)) for run in runs]
        assert sorted(map(repr, map(shown, lines))) == sorted(map(repr, expected))
        assert [line.period for line in lines] == sorted(line.period for line in lines)

    play(scene())


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(ZONES)), texts, st.sampled_from(POLICIES), st.lists(steps, max_size=6))
def test_coming_lines_are_the_next_runs(zone, text, policy, happened):
    async def scene():
        life = Life(zone)
        await life.define(text, policy)
        await life.happen(happened)
        store, now = life.world.store, life.now()
        (state,) = await store.get(["job"])
        lines = await periods(store, "job", now - 3 * HOUR, now + 36 * HOUR)
        reached = lines[-1].period.nominal if lines else now
        listed = sorted(
            (line.chosen, line.period.nominal) for line in lines if line.absence is Absence.COMING and line.chosen
        )
        requested = {line.period.nominal for line in lines if line.requested}  # shown in place of the coming period
        dues = [due for due in upcoming(state, now * 1000, 300) if due.nominal <= reached]
        assert listed == sorted((due.at, due.nominal) for due in dues if due.nominal not in requested)

    play(scene())


def test_period_whose_window_reaches_beyond_a_new_definition_is_listed():
    """A schedule that was deleted is defined again, inside a window of the new definition."""

    async def scene():
        life = Life("Australia/Lord_Howe")
        await life.define("0 * * * *", POLICIES[0])
        await life.happen([("work", 600), ("delete",)])
        await life.define("0,50 */3 * * SUN,MON @win(after,90m)", POLICIES[0])
        store, now = life.world.store, life.now()
        (state,) = await store.get(["job"])
        lines = await periods(store, "job", now - 3 * HOUR, now + 36 * HOUR)
        coming = {line.period.nominal for line in lines if line.absence is Absence.COMING}
        dues = upcoming(state, now * 1000, 3)
        assert {due.nominal for due in dues} <= coming
        early = dues[0]
        assert early.nominal < now
        told = await why(store, "job", early.nominal * 1000)
        assert (told.absence, told.due) == (Absence.COMING, early)

    play(scene())


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(sorted(ZONES)), texts)
def test_coming_lines_of_a_new_schedule_are_what_kron_next_prints(zone, text):
    async def scene():
        life = Life(zone)
        await life.define(text, KRON)
        lines = await periods_around(life.world.store, "job", life.now() * 1000, 9, 20)
        listed = sorted(line.chosen // 1000 for line in lines if line.absence is Absence.COMING and line.chosen)
        last, schedule = lines[-1].period.nominal, lines[0].revision.job.schedule
        decisions = [run.decision for run in upcoming_runs(schedule, "job", life.now(), 40).runs]
        assert listed == sorted(time_of(decision) for decision in decisions if decision.period.nominal <= last)

    play(scene())


def ids(lines):
    return [line.period.id[5:16] for line in lines]


async def an_hourly_world():
    world = World("2026-03-01T05:30:00Z", duration=1)
    await world.define("0 * * * * @win(after,30m)", SERVICE)
    await world.run("2026-03-01T12:10:00Z")
    return world, instant_of("2026-03-01T12:10:00Z") * 1000


def test_pages_to_both_sides_join():
    async def scene():
        world, now = await an_hourly_world()
        read = lambda at, before, after: periods_around(world.store, "job", at, before, after)  # noqa: E731
        ladder = await read(now, 3, 2)
        assert ids(ladder) == ["03-01T10:00", "03-01T11:00", "03-01T12:00", "03-01T13:00", "03-01T14:00"]
        older = await read(ladder[0].period.nominal * 1000 - 1, 2, 0)
        newer = await read(ladder[-1].period.nominal * 1000, 0, 2)
        assert ids(older) == ["03-01T08:00", "03-01T09:00"]
        assert ids(newer) == ["03-01T15:00", "03-01T16:00"]
        first, last = older[0].period.nominal, newer[-1].period.nominal
        assert await periods(world.store, "job", first, last) == [*older, *ladder, *newer]
        assert await periods(world.store, "job", first, last, 3) == [*older, ladder[0]]

    play(scene())


def test_line_has_window_chosen_time_and_run():
    async def scene():
        world, now = await an_hourly_world()
        (line,) = await periods_around(world.store, "job", now - HOUR * 1000, 1, 0)
        eleven = instant_of("2026-03-01T11:00:00Z")
        assert line.window == (eleven * NANOSECONDS, (eleven + 1_800) * NANOSECONDS)
        assert line.chosen == line.due == line.run.due
        assert (line.outcome, line.reason, line.absence) == (Outcome.EXECUTED, None, None)
        assert line.text == "executed: The run succeeded."

    play(scene())


def test_requested_runs_are_lines_of_their_own():
    async def scene():
        world, now = await an_hourly_world()
        await world.registrar.trigger("job", "release-42")
        ten = instant_of("2026-03-01T10:00:00Z")
        await world.registrar.backfill("job", ten, ten, "b")
        lines = await periods_around(world.store, "job", now, 3, 0)
        assert [(rfc3339(line.period.nominal)[11:16], line.requested) for line in lines] == [
            ("10:00", False), ("10:00", True), ("11:00", False), ("12:00", False), ("12:10", True)
        ]  # fmt: skip
        assert (lines[-1].window, lines[-1].chosen, lines[-1].due) == (None, None, now)

    play(scene())


def test_period_that_was_missed_and_requested_later_shows_both():
    async def scene():
        world = World("2026-03-01T05:30:00Z", duration=1)
        await world.define("0 * * * *", replace(SERVICE, catchup=Catchup.NONE, catchup_limit=1))
        world.sleep("2026-03-01T12:10:00Z")
        await world.tick()
        seven = instant_of("2026-03-01T07:00:00Z")
        before = (await periods(world.store, "job", seven, seven))[0]
        assert (before.outcome, before.reason) == (Outcome.MISSED, Reason.CATCHUP_NONE)
        await world.registrar.backfill("job", seven, seven, "b")
        await world.tick()
        (after,) = await periods(world.store, "job", seven, seven)
        assert (after.outcome, after.gap) == (Outcome.EXECUTED, before.gap)
        assert after.text == (await why(world.store, "job", seven * 1000)).summary()

    play(scene())


def test_no_period_before_the_start_or_after_the_end():
    async def scene():
        world = World("2026-03-01T05:30:00Z")
        eight, ten = (instant_of(f"2026-03-01T{hour}:00:00Z") for hour in ("08", "10"))
        await world.define("0 * * * *", start=eight, end=ten)
        assert ids(await periods(world.store, "job", 0, ten * 2)) == ["03-01T09:00", "03-01T10:00"]
        assert ids(await periods_around(world.store, "job", ten * 2000, 9, 9)) == ["03-01T09:00", "03-01T10:00"]

    play(scene())


def test_runs_beyond_the_last_one_are_over():
    async def scene():
        world = World("2026-03-01T05:30:00Z", duration=1)
        await world.define("0 * * * *", replace(SERVICE, max_runs=2))
        lines = await periods_around(world.store, "job", world.clock.now() * 1000 // 1, 0, 4)
        assert [line.absence for line in lines] == [Absence.COMING] * 2 + [Absence.OVER] * 2
        assert lines[2].text == "no record: The schedule has its last run before this period."
        await world.run("2026-03-01T08:10:00Z")
        (line,) = await periods_around(world.store, "job", instant_of("2026-03-01T08:10:00Z") * 1000, 0, 1)
        assert (line.absence, line.text) == (Absence.OVER, "no record: The schedule has had its 2 runs.")

    play(scene())


def test_pause_that_drops_periods_drops_a_window_that_reaches_beyond_it():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * * @win(after,59m)", replace(SERVICE, resume=Resume.DROP))
        until = (instant_of("2026-03-01T12:00:01Z")) * 1000
        await world.registrar.pause("job", until=until)
        noon, one = await periods_around(world.store, "job", until - 2_000, 0, 2)
        assert noon.due > until
        assert (noon.absence, noon.paused_until, one.absence) == (Absence.PAUSED, until, Absence.COMING)
        await world.run("2026-03-01T13:59:59Z")
        assert [
            line.outcome for line in await periods(world.store, "job", noon.period.nominal, one.period.nominal)
        ] == [
            Outcome.SKIPPED,
            Outcome.EXECUTED,
        ]

    play(scene())


@pytest.mark.parametrize("limit", [0, -1, MAX_PERIODS + 1])
def test_number_of_periods_is_bounded(limit):
    async def scene():
        world, now = await an_hourly_world()
        with pytest.raises(InvalidInput, match="out of range"):
            await periods(world.store, "job", 0, now, limit)
        with pytest.raises(InvalidInput, match="out of range"):
            await periods_around(world.store, "job", now, limit, 0)
        with pytest.raises(NotFound):
            await periods(world.store, "other", 0, now)
        assert len(await periods(world.store, "job", 0, now // 1000)) == MAX_PERIODS

    play(scene())


class Counted:
    """A store that counts the calls of its methods."""

    def __init__(self, store):
        self.store, self.calls = store, []

    def __getattr__(self, name):
        if name == "overview":
            self.calls.append(name)
        attribute = getattr(self.store, name)
        if not callable(attribute):
            return attribute
        self.calls.append(name)
        return attribute


def test_number_of_store_calls_does_not_depend_on_the_number_of_periods():
    async def scene():
        world, now = await an_hourly_world()
        counts = []
        for count in (1, 50):
            store = Counted(world.store)
            await periods_around(store, "job", now, count, count)
            counts.append(sorted(store.calls))
        assert counts[0] == counts[1]
        assert len(counts[0]) <= 8

    play(scene())
