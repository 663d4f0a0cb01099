"""Edits inside windows: each period of the old calendar has an outcome; the new definition decides what is open."""

import random
from dataclasses import replace
from functools import partial

import pytest

from kron import parse
from kron.rules.outcome import Reason
from kron.timing.job import Job
from kron.timing.schedule.policy import KRON, SECOND, SERVICE, Catchup, FirstPeriod, Resume
from kron.timing.zone import instant_of
from tests.engine.world import World, play
from tests.simulation.calendar import REACH, Calendar

LATE = "0 12 * * * @win(after,1h) @seed(stable,salt=s8) @policy(deadline=30m)"  # chosen 12:45
EARLY = "0 12 * * * @win(after,1h) @seed(stable,salt=s1) @policy(deadline=30m)"  # chosen 12:02:37


async def edited(first, second, at="2026-03-01T12:05:00Z", until="2026-03-01T14:00:00Z", down=False):
    world = World("2026-03-01T11:00:00Z", duration=1)
    await world.define(first)
    if not down:
        await world.run(at)
    world.sleep(at)
    await world.define(second)
    await world.run(until)
    return world


def test_edit_inside_a_window_lets_the_new_definition_decide():
    async def script():
        world = await edited(LATE, EARLY)
        assert await world.story() == "1 executed"
        (run,) = await world.store.runs("job", 10)
        assert (run.revision, run.due) == (2, instant_of("2026-03-01T12:02:37Z") * 1000)

    play(script())


def test_edit_inside_a_window_judges_a_past_chosen_time_by_the_deadline():
    async def script():
        world = await edited(LATE, EARLY.replace("30m", "1m"))
        assert await world.story() == "1 missed (deadline)"

    play(script())


def test_edit_to_a_calendar_without_the_open_period_supersedes_it():
    async def script():
        world = await edited(LATE, "30 12 * * *")
        assert await world.story() == "1 skipped (superseded), 1 executed"
        runs = {run.nominal: run for run in await world.store.runs("job", 10)}
        assert runs[instant_of("2026-03-01T12:00:00Z")].revision == 1

    play(script())


def test_edit_while_no_worker_runs_counts_from_the_edit():
    async def script():
        world = await edited(LATE, "30 12 * * *", down=True)
        assert await world.story() == "1 skipped (superseded), 1 executed"

    play(script())


def test_edit_does_not_owe_periods_of_the_new_calendar_alone():
    """At 12:05 the new calendar has had 11:30; its window is open, and nobody has promised it."""

    async def script():
        world = await edited("0 12 * * * @win(after,1h)", "30 11 * * * @win(after,2h)", until="2026-03-01T16:00:00Z")
        assert "executed" not in await world.story()

    play(script())


def test_edit_between_the_nominal_and_the_jittered_time_keeps_the_period():
    async def script():
        policy = replace(SERVICE, jitter=300 * SECOND)
        for identity in map(str, range(20)):
            world = World("2026-03-01T11:00:00Z", duration=1)
            await world.define("0 12 * * *", policy, identity)
            await world.run("2026-03-01T12:00:05Z")
            await world.define("0 12 * * *", policy, identity, description="other")
            await world.run("2026-03-01T13:00:00Z")
            assert await world.story(identity) == "1 executed"

    play(script())


def test_edit_that_takes_the_jitter_away_runs_the_open_period_at_once():
    """Nobody was away: the edit moved its time into the past, and the policy has no deadline."""

    async def script():
        for identity in map(str, range(20)):
            world = World("2026-03-01T11:00:00Z", duration=1)
            await world.define("0 12 * * *", replace(SERVICE, jitter=300 * SECOND), identity)
            await world.run("2026-03-01T12:00:05Z")
            await world.define("0 12 * * *", SERVICE, identity)
            await world.run("2026-03-01T13:00:00Z")
            assert await world.story(identity) == "1 executed"

    play(script())


@pytest.mark.parametrize(
    ("resume", "story"),
    [(Resume.BY_DEADLINE, "1 missed (deadline), 1 executed"), (Resume.DROP, "2 skipped (suspended)")],
)
def test_lifted_suspension_treats_what_passed_as_a_resume_does(resume, story):
    async def script():
        policy = replace(KRON, deadline=600 * SECOND, resume=resume)
        world = World("2026-03-01T10:30:00Z", duration=1)
        await world.define("0 * * * *", replace(policy, suspend=True))
        await world.define("0 * * * *", replace(policy, suspend=True), description="other")
        await world.run("2026-03-01T12:01:00Z")
        assert await world.story() == "nothing"
        await world.define("0 * * * *", policy)
        await world.run("2026-03-01T12:30:00Z")
        assert await world.story() == story

    play(script())


def test_edit_of_a_suspended_schedule_records_what_passed_as_suspended():
    async def script():
        world = World("2026-03-01T10:30:00Z", duration=1)
        await world.define("0 * * * * @policy(suspend=true)")
        await world.run("2026-03-01T12:01:00Z")
        await world.define("30 * * * * @policy(suspend=true)")
        assert await world.story() == "2 skipped (suspended)"

    play(script())


# An oracle for edits, slow and plain: which periods each definition owes, from the decision's own words.

ZONES = ("UTC", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns")
CRONS = ("0 * * * *", "*/10 * * * *", "*/30 * * * *", "5 * * * *", "0 */2 * * *", "45 1,2,3 * * *")
WINDOWS = ("", "@win(after,45m)", "@win(around,40m)", "@win(after,1h)", "@win(around,1h)")
BEGIN = instant_of("2026-04-04T12:00:00Z")  # Lord Howe sets its clocks back by half an hour at 15:00


def a_definition(dice):
    zone, cron = dice.choice(ZONES), dice.choice(CRONS)
    resume = dice.choice(list(Resume))
    sight = dice.choice(list(FirstPeriod))
    if dice.random() < 0.3:
        catchup = dice.choice([Catchup.NONE, Catchup.ALL])
        policy = replace(SERVICE, jitter=dice.choice([0, 90, 2400]) * SECOND, catchup=catchup)
        schedule = parse(cron, dialect="service", timezone=zone)
    else:
        policy = replace(KRON, deadline=dice.choice([0, 600 * SECOND, 36_000 * SECOND]))
        salt = dice.randrange(5)
        text = f"{cron} @tz({zone}) {dice.choice(WINDOWS)} @seed(stable,salt=x{salt})"
        schedule = parse(text.replace("@tz(UTC)", ""), dialect="kron")
    policy = replace(policy, resume=resume, first_period=sight, suspend=dice.random() < 0.1)
    return replace(schedule, policy=policy)


class Oracle:
    """What is owed, by whom: nominal time -> the calendar that is to decide it."""

    def __init__(self):
        self.calendar = None
        self.owed = {}
        self.required = {}  # nominal -> number of the revision whose outcome it must have, and whether superseded
        self.revision = 0

    def near(self, calendar, at):
        return calendar.between(at // 1000 - REACH, at // 1000 + 200_000)

    def create(self, job, at, floor):
        """A name that was used before owes nothing that lay behind the cursor of its last life."""
        self.calendar, self.revision = Calendar(job), self.revision + 1
        near = [n for n in self.near(self.calendar, at) if n > floor]
        self.owed = {n for n in near if self.calendar.answers_for(n, at)} - self.required.keys()

    def commit(self, at, *, asleep=False):
        """What fell due under the present definition is its own, also in a pause.

        A pause leaves a period that no second satisfies until its nominal time.
        """
        for nominal in [n for n in self.owed if self.is_due(n, at) and not (asleep and self.is_impossible(n, at))]:
            self.owed.discard(nominal)
            self.required[nominal] = (self.revision, False)

    def is_due(self, nominal, at):
        return self.calendar.at(nominal).due <= at

    def is_impossible(self, nominal, at):
        return nominal * 1000 > at and not self.calendar.at(nominal).schedulable

    def edit(self, job, at, *, asleep):
        self.commit(at, asleep=asleep)
        new = Calendar(job)
        theirs = set(self.near(new, at))
        for nominal in [n for n in self.owed if n * 1000 <= at and n not in theirs]:
            self.required[nominal] = (self.revision, True)
        kept = {n for n in self.owed if n * 1000 <= at and n in theirs}
        later = {n for n in theirs if n * 1000 > at} - self.required.keys()
        self.calendar, self.revision, self.owed = new, self.revision + 1, kept | later

    def delete(self, at, *, asleep):
        self.commit(at, asleep=asleep)
        self.calendar, self.owed = None, set()

    def resume(self, at, *, drop):
        if drop:
            for nominal in [n for n in self.owed if n * 1000 <= at or self.is_due(n, at)]:
                if not self.is_impossible(nominal, at):
                    self.owed.discard(nominal)
                    self.required[nominal] = (self.revision, False)


async def scenario(seed):
    dice = random.Random(seed)
    world, oracle, exists, paused = World("2026-04-04T12:00:00Z", duration=1), Oracle(), False, False
    world.clock.time = now = float(BEGIN)
    for _ in range(dice.randrange(2, 7)):
        now += dice.choice([1, 97, 600, 1777, 3600, 5000]) + dice.choice([0, 0.25])
        if dice.random() < 0.6:
            await world.run(now)
        world.sleep(now)
        at, what = int(now * 1000), dice.random()
        if not exists:
            schedule = a_definition(dice)
            (tombstone,) = await world.store.get(["job"])
            case = await world.registrar.upsert(a_job(schedule))
            oracle.create(case.job, at, tombstone.cursor if tombstone else 0)
            exists, paused = True, False
        elif what < 0.6:
            before = await world.registrar.get("job")
            job = a_job(a_definition(dice))
            await world.registrar.upsert(job)
            if job != before.job:
                lifted = not job.schedule.policy.suspend and before.policy.resume is Resume.BY_DEADLINE
                oracle.edit(job, at, asleep=paused or (before.policy.suspend and not lifted))
        elif what < 0.75:
            await world.run(now)  # or else it depends on when a worker came whether it was before the pause
            if not (await world.registrar.get("job")).is_inactive:
                oracle.commit(at)
            await world.registrar.pause("job")
            paused = True
        elif what < 0.9:
            drop = paused and (await world.registrar.get("job")).policy.resume is Resume.DROP
            await world.registrar.resume("job")
            oracle.resume(at, drop=drop)
            paused = False
        else:
            asleep = (await world.registrar.get("job")).is_inactive
            await world.registrar.delete("job")
            oracle.delete(at, asleep=asleep)
            exists = False
    end = now + 10_000
    await world.run(end)
    case = (await world.store.get(["job"]))[0]
    if exists and not case.is_inactive:
        oracle.commit(int(end * 1000))
    return world, oracle


def a_job(schedule):
    return Job("job", schedule, target="test:it")


async def check(seed):
    world, oracle = await scenario(seed)
    runs = {run.nominal: run for run in await world.store.runs("job", 100_000)}
    gaps = await world.store.gaps("job")
    dropped = {n for n in oracle.required for gap in gaps if gap.first <= n <= gap.last and n not in runs}
    for nominal, (revision, superseded) in oracle.required.items():
        assert nominal in runs or nominal in dropped, f"seed {seed}: no outcome for {nominal}"
        if nominal in runs:
            run = runs[nominal]
            assert (run.reason is Reason.SUPERSEDED) == superseded, f"seed {seed}: {run}"
            assert run.revision == revision, f"seed {seed}: {run}"
    assert runs.keys() <= oracle.required.keys() | oracle.owed, f"seed {seed}: more than was owed"
    assert sum(gap.count for gap in gaps) == len(dropped), f"seed {seed}: {gaps} {sorted(dropped)}"


@pytest.mark.parametrize("part", range(4))
def test_edits_leave_no_period_without_an_outcome_and_add_none(part):
    """Random edits, pauses, deletions and suspensions, with workers or without, against the oracle."""
    for seed in range(part * 150, part * 150 + 150):
        play(partial(check, seed)())
