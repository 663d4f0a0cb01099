"""Each period ends in one outcome: the clauses of the specification, one by one."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, pairwise

import pytest

from kron.engine.events import Memory
from kron.engine.registrar import Registrar
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.outcome import Outcome, Reason
from kron.rules.plan import plan
from kron.rules.run import claimed, ended, is_valid_transition
from kron.rules.run_state import OPEN, State
from kron.stores.sqlite import SqliteStore
from kron.timing.due import due_of
from kron.timing.key import key_of
from kron.timing.period import periods
from kron.timing.schedule.policy import KRON, MINUTE, SERVICE, Catchup, Overlap
from kron.timing.zone import instant_of
from tests.engine.world import FOLLOWED, World, play
from tests.stores.making import NOW, a_case, a_run

NOON = "0 12 * * *"
TEN_MINUTES = "@policy(deadline=10m)"


async def came(at, text=NOON, policy=None, before=None):
    """A world in which nobody was there from 11:00 until that time."""
    world = World("2026-03-01T11:00:00Z", duration=1)
    await world.define(text, policy)
    if before:
        await before(world)
    world.sleep(at)
    await world.tick()
    return world


@pytest.mark.req("KSPEC-TERM-HANDLED")
def test_there_are_four_outcomes():
    assert {str(verdict) for verdict in Outcome} == {"executed", "skipped", "missed", "unschedulable"}


@pytest.mark.req("KSPEC-TRIG-ELIGIBLE", "KSPEC-DEADLINE-ZERO", "KSPEC-OUTC-EXECUTED", "KSPEC-OUTC-MISSED")
@pytest.mark.parametrize(
    ("at", "story"),
    [
        ("2026-03-01T11:59:59Z", "nothing"),
        ("2026-03-01T12:00:00Z", "1 executed"),
        ("2026-03-01T12:00:01Z", "1 missed (deadline)"),
    ],
)
def test_a_deadline_of_0s_is_kept_by_its_second_alone(at, story):
    async def script():
        world = await came(at)
        assert await world.story() == story
        assert len(world.target.starts) == story.count("executed")

    play(script())


@pytest.mark.req("KSPEC-DEADLINE-WITHIN", "KSPEC-DEADLINE-AFTER", "KSPEC-TERM-DEADLINE", "KSPEC-CLOCK-FWD")
@pytest.mark.parametrize(
    ("at", "story"), [("2026-03-01T12:10:00Z", "1 executed"), ("2026-03-01T12:10:01Z", "1 missed (deadline)")]
)
def test_a_deadline_includes_its_end(at, story):
    async def script():
        assert await (await came(at, f"{NOON} {TEN_MINUTES}")).story() == story

    play(script())


async def overlapping(policy):
    """Runs of 20 minutes, due every 15."""
    world = World("2026-03-01T12:10:00Z", duration=20 * 60)
    await world.define("*/15 * * * *", replace(policy, deadline=MINUTE))
    await world.run("2026-03-01T12:31:00Z")
    return world


@pytest.mark.req("KSPEC-CONC-ALLOW", "KSPEC-CONC-WHEN", "SVC-OVERLAP-ALLOW")
def test_allow_runs_beside_the_active_run():
    async def script():
        world = await overlapping(replace(KRON, overlap=Overlap.ALLOW))
        runs = await world.store.runs("job", 10)
        assert [run.state for run in runs] == [State.ENQUEUED, State.ENQUEUED]

    play(script())


@pytest.mark.req("KSPEC-CONC-FORBID", "KSPEC-OUTC-SKIPPED", "SVC-OVERLAP-SKIP", "SVC-PC-SKIPROW")
def test_forbid_skips_while_a_run_is_active():
    async def script():
        world = await overlapping(KRON)
        assert await world.story() == "1 executed, 1 skipped (overlap)"
        assert len(world.target.starts) == 1

    play(script())


@pytest.mark.req("SVC-PC-INFLIGHT")
@pytest.mark.parametrize("state", [state for state in State if state is not State.PENDING])
def test_a_period_is_skipped_only_while_a_run_may_be_going(state):
    """ENQUEUED and STARTED, as the document says; and what may have been sent, which counts as running."""
    going = {State.LAUNCHING, State.RETRY, State.ENQUEUED, State.STARTED}
    other = a_run(state, minute=1, lease=NOW + 600_000, not_before=NOW + 600_000)
    case = a_case(cursor=other.nominal, open_runs=(other,) if other.open else ())
    made = plan(case, (other.nominal + 60) * 1000, owner="w", lease=1)
    (run,) = made.new
    assert run.state is (State.SKIPPED if state in going else State.LAUNCHING)
    assert run.reason is (Reason.OVERLAP if state in going else None)


@pytest.mark.req("KSPEC-CONC-REPLACE", "KSPEC-CONC-TERM", "KSPEC-CHANGE-ACTIVE")
def test_replace_ends_the_active_run_and_both_records_show_it():
    async def script():
        world = await overlapping(replace(KRON, overlap=Overlap.REPLACE))
        newer, older = await world.store.runs("job", 10)
        assert (older.state, older.outcome, older.reason) == (State.CANCELLED, Outcome.EXECUTED, Reason.REPLACED)
        assert newer.state is State.ENQUEUED
        assert world.target.cancelled == [older.key]

    play(script())


@pytest.mark.req("SVC-OVERLAP-QUEUE", "SVC-PC-QUEUEBREAK")
def test_queue_waits_for_the_active_run_and_then_runs():
    async def script():
        world = await overlapping(replace(FOLLOWED, overlap=Overlap.QUEUE))
        assert await world.story() == "1 executed, 1 pending"
        await world.run("2026-03-01T12:36:00Z")
        assert await world.story() == "2 executed"
        assert [launch.run.nominal % 3600 for launch in world.target.starts] == [900, 1800]

    play(script())


@pytest.mark.req("KSPEC-IDEM-ONE", "KSPEC-INV-2", "KSPEC-OUTC-ONCE", "KSPEC-OUTC-NOMORE")
@pytest.mark.req("SVC-IDEM-EXISTS", "SVC-GOAL-ONCE")
def test_a_handled_period_is_never_run_again_whoever_looks():
    async def script():
        world = await came("2026-03-01T12:00:00Z")
        for _ in range(3):
            world.restart()
            await world.tick()
        assert len(world.target.starts) == 1
        assert len(await world.store.runs("job", 10)) == 1

    play(script())


@pytest.mark.req("KSPEC-IDEM-CHECK", "KSPEC-IDEM-RECORDED")
def test_a_run_is_recorded_before_it_is_started():
    async def script():
        world = World("2026-03-01T11:00:00Z", duration=1)
        await world.define(NOON)
        seen = []
        start = world.target.start

        async def watch(launch):
            seen.append(await world.store.runs_by_key([launch.run.key]))
            return await start(launch)

        world.target.start = watch
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        assert [run.state for (run,) in seen] == [State.LAUNCHING]

    play(script())


@pytest.mark.req("KSPEC-CLOCK-BACK", "KSPEC-CLOCK-NOW")
def test_a_clock_that_goes_back_runs_nothing_twice():
    async def script():
        world = await came("2026-03-01T12:00:00Z")
        (handled,) = await world.store.runs("job", 9)
        going = await world.registrar.get("job")
        world.sleep("2026-03-01T12:00:02Z")
        await world.tick()
        over = await world.registrar.get("job")
        assert (len(going.open_runs), len(over.open_runs)) == (1, 0)
        world.sleep("2026-03-01T11:00:00Z")
        for case in (going, over):
            for at in range(0, 90 * 60, 30 * 60):  # what a worker would do that looks at it now, and at noon
                assert plan(case, int(world.clock.now() + at) * 1000, owner="w", lease=1).new == ()
        await world.run("2026-03-01T12:30:00Z")
        assert len(world.target.starts) == 1
        assert [run.key for run in await world.store.runs("job", 9)] == [handled.key]

    play(script())


@pytest.mark.req("KSPEC-CLOCK-PERSIST", "KSPEC-CLOCK-BACK")
def test_a_restart_and_a_clock_that_goes_back_run_nothing_twice(tmp_path):
    """What was handled is in the file: a worker of another process, an hour earlier, handles it no more."""

    async def script():
        world, cases = World("2026-03-01T11:00:00Z", duration=1), []
        for begin, end in [(None, "2026-03-01T12:00:30Z"), ("2026-03-01T11:00:00Z", "2026-03-01T12:30:00Z")]:
            world.store = SqliteStore(tmp_path / "kron.db", world.clock)
            world.registrar = Registrar(world.store)
            world.restart()
            if begin is None:
                await world.define(NOON)
            else:
                world.sleep(begin)
                assert await world.registrar.get("job") == cases[-1]
            await world.run(end)
            assert await world.story() == "1 executed"
            cases.append(await world.registrar.get("job"))
            await world.store.close()
        assert cases[0].cursor == instant_of("2026-03-01T12:00:00Z")
        assert len(world.target.starts) == 1

    play(script())


@pytest.mark.req("KSPEC-OUT-OUTCOME")
def test_each_period_ends_in_exactly_one_of_the_four_outcomes():
    """A day of quarters: runs of 20 minutes, two hours without a worker, and an hour that constraints exclude."""

    async def script():
        world = World("2026-03-01T00:00:01Z", duration=20 * 60)
        case = await world.define("*/15 * * * * @avoid(hours=6)")
        await world.run("2026-03-01T12:00:00Z")
        world.sleep("2026-03-01T14:00:01Z")
        await world.run("2026-03-01T23:59:00Z")
        runs = await world.store.runs("job", 200)
        calendar = list(islice(periods(case.job.schedule, datetime(2026, 3, 1, 0, 0, 1, tzinfo=UTC)), 95))
        assert [run.nominal for run in reversed(runs)] == [period.nominal for period in calendar]
        by_hour = {hour: {run.outcome for run in runs if run.nominal // 3600 % 24 == hour} for hour in (3, 6, 13)}
        assert by_hour == {
            3: {Outcome.EXECUTED, Outcome.SKIPPED},
            6: {Outcome.UNSCHEDULABLE},
            13: {Outcome.MISSED},
        }
        assert None not in {run.outcome for run in runs}
        assert await world.store.gaps("job") == []

    play(script())


@pytest.mark.req("KSPEC-TRIG-SUSPEND", "KSPEC-INV-6")
def test_a_suspended_schedule_handles_nothing_and_forgets_nothing():
    async def script():
        world = await came("2026-03-01T12:00:00Z", f"{NOON} @policy(suspend=true,deadline=10m)")
        assert await world.story() == "nothing"
        assert world.target.starts == []
        await world.define(f"{NOON} {TEN_MINUTES}")
        await world.run("2026-03-01T12:01:00Z")
        assert len(world.target.starts) == 1  # as after a pause

    play(script())


@pytest.mark.req("KSPEC-CON-UNSCHED", "KSPEC-OUTC-UNSCHED", "KSPEC-INV-7")
def test_a_period_without_an_admissible_second_is_recorded_and_nothing_is_started():
    async def script():
        world = await came("2026-03-01T13:00:00Z", f"{NOON} @win(after,30m) @only(hours=3)")
        assert await world.story() == "1 unschedulable (constraints)"
        assert world.target.starts == []

    play(script())


@pytest.mark.req("KSPEC-INV-4", "SVC-SEC-BOUND")
def test_a_year_without_a_worker_is_a_hundred_records_and_one_gap():
    async def script():
        world = await came("2027-03-01T12:00:00Z", "* * * * *")
        (gap,) = await world.store.gaps("job")
        runs = await world.store.runs("job", 10_000)
        assert len(runs) == 100
        assert gap.count + len(runs) == 365 * 1440 + 61
        assert gap.reason is Reason.REPLAY_BOUND

    play(script())


@pytest.mark.req("KSPEC-DEC-CHANGE", "KSPEC-CHANGE-PAST", "KSPEC-CHANGE-FUTURE", "KSPEC-CHANGE-WHAT")
@pytest.mark.parametrize(
    "text",
    [
        "0 12,13 * * *",
        f"{NOON} @tz(Europe/Paris)",
        f"{NOON} @win(after,1h)",
        f"{NOON} @dist(skewLate)",
        f"{NOON} @seed(daily)",
        f"{NOON} @seed(stable,salt=x)",
        f"{NOON} @avoid(dow=SUN)",
        f"{NOON} @policy(deadline=1h)",
    ],
)
def test_a_change_is_a_new_revision_and_never_runs_a_handled_period_again(text):
    async def script():
        world = await came("2026-03-01T12:00:00Z")
        await world.define(text)
        assert [revision.number for revision in await world.store.revisions("job")] == [1, 2]
        await world.run("2026-03-01T12:59:00Z")
        assert [launch.run.nominal % 86_400 for launch in world.target.starts] == [12 * 3600]
        await world.run("2026-03-03T14:00:00Z")
        assert len(world.target.starts) > 1

    play(script())


@pytest.mark.req("KSPEC-SM-MONO", "KSPEC-INV-5", "KSPEC-SM-STATES")
def test_what_has_ended_stays_as_it_ended():
    async def script():
        world = await came("2026-03-01T12:00:00Z")
        (run,) = await world.store.runs("job", 1)
        done = ended(run, State.SUCCESS, 1)
        assert not any(is_valid_transition(done, done._replace(state=state)) for state in State)
        assert not is_valid_transition(run, run._replace(outcome=Outcome.MISSED))
        assert is_valid_transition(run, done)
        assert all(state in OPEN for state in (State.PENDING, State.LAUNCHING))
        assert claimed(run, "w", 1, 1).attempt == run.attempt + 1

    play(script())


@pytest.mark.req("KSPEC-SM-SUB", "KSPEC-TERM-EXECUTION", "SVC-FEEDBACK")
@pytest.mark.parametrize(("report", "state"), [(Report.SUCCESS, State.SUCCESS), (Report.FAILED, State.FAILED)])
def test_an_execution_runs_and_then_is_completed(report, state):
    async def script():
        world = World("2026-03-01T11:00:00Z")
        await world.define(NOON)
        world.sleep("2026-03-01T12:00:00Z")
        await world.tick()
        (run,) = await world.store.runs("job", 1)
        assert (run.state, run.outcome, run.active) == (State.ENQUEUED, Outcome.EXECUTED, True)
        await world.registrar.report(run.key, Report.STARTED)
        assert (await world.store.runs("job", 1))[0].state is State.STARTED
        await world.registrar.report(run.key, report)
        (run,) = await world.store.runs("job", 1)
        assert (run.state, run.outcome, run.active) == (state, Outcome.EXECUTED, False)

    play(script())


@pytest.mark.req("SVC-IDEM-KEY", "SVC-RUN-KEY", "SVC-TICK-KEY")
def test_the_key_is_the_sha256_of_the_schedule_and_the_second():
    assert key_of("s1", 1772366400) == hashlib.sha256(b"s1:1772366400").hexdigest()


@pytest.mark.req("SVC-CATCHUP-NONE", "SVC-PC-NONE", "SVC-RESTART", "SVC-TICK-CATCHUP")
def test_none_catches_nothing_up():
    async def script():
        world = await came("2026-03-01T12:00:00Z", "*/15 * * * *", SERVICE)
        assert await world.story() == "3 missed (catchup_none), 1 executed"

    play(script())


@pytest.mark.req("SVC-CATCHUP-FIRE", "SVC-PC-ALL", "SVC-CFG-MAXCATCHUP", "SVC-TICK-CATCHUP", "SVC-SEC-BOUND")
def test_fire_immediately_emits_all_a_hundred_a_pass_oldest_first():
    async def script():
        policy = replace(SERVICE, catchup=Catchup.ALL, overlap=Overlap.ALLOW)
        world = await came("2026-03-01T14:30:00Z", "* * * * *", policy)
        assert len(world.target.starts) == 100
        nominals = [launch.run.nominal for launch in world.target.starts]
        assert nominals == sorted(nominals)
        await world.tick()
        await world.tick()
        assert len(world.target.starts) == 210

    play(script())


@pytest.mark.req("SVC-CATCHUP-SPREAD", "SVC-PC-SPREAD", "SVC-TICK-CATCHUP")
def test_spread_distributes_what_was_missed_over_the_look_ahead():
    async def script():
        policy = replace(SERVICE, catchup=Catchup.SPREAD, overlap=Overlap.ALLOW)
        world = await came("2026-03-01T12:05:00Z", "*/15 * * * *", policy)
        now = int(world.clock.now() * 1000)
        waits = sorted(run.not_before - now for run in await world.store.runs("job", 10) if run.not_before)
        assert waits == [0, 15_000, 30_000, 45_000]
        await world.run("2026-03-01T12:06:00Z")
        assert await world.story() == "4 executed"

    play(script())


@pytest.mark.req("SVC-RETRY-LAUNCH", "SVC-TICK-LAUNCH")
def test_launch_that_is_refused_for_ten_minutes_is_recorded_as_failed():
    async def script():
        world = World("2026-03-01T11:00:00Z", duration=1, answers=[LaunchResult.RETRYABLE] * 99)
        await world.define(NOON, SERVICE)
        await world.run("2026-03-01T12:09:00Z")
        (run,) = await world.store.runs("job", 1)
        assert run.state is State.RETRY
        await world.run("2026-03-01T12:13:00Z")
        (run,) = await world.store.runs("job", 1)
        assert (run.state, run.outcome, run.reason) == (State.FAILED, Outcome.MISSED, Reason.LAUNCH_FAILED)
        waits = [b.run.sent - a.run.sent for a, b in pairwise(world.target.starts)]
        assert 750 <= waits[0] <= 1_100  # a second, less some jitter, and the pass
        assert 45_000 <= waits[-1] <= 60_100
        assert len({launch.run.key for launch in world.target.starts}) == 1

    play(script())


@pytest.mark.req("SVC-JITTER-UNIFORM", "SVC-TICK-JITTER", "SVC-PC-FIRE")
def test_jitter_is_uniform_within_its_bounds_and_the_same_after_a_restart():
    async def script():
        world = World("2026-03-01T00:00:00Z", duration=1)
        case = await world.define("* * * * *", replace(SERVICE, jitter=20_000_000_000))
        offsets = [due_of(case.job, 60 * n).at - 60_000 * n for n in range(20_000)]
        assert -20_000 <= min(offsets) < -19_900
        assert 19_900 < max(offsets) <= 20_000
        assert abs(sum(offsets)) / len(offsets) < 300
        assert offsets == [due_of(case.job, 60 * n).at - 60_000 * n for n in range(20_000)]
        await world.run("2026-03-01T00:10:00Z")
        for launch in world.target.starts:
            assert launch.run.nominal % 60 == 0

    play(script())


@pytest.mark.req("SVC-OBS-LOGS")
def test_every_end_is_stated_as_a_fact_with_its_reason():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=20 * 60)
        world.worker.sink = world.worker.dispatcher.sink = heard = Memory()
        await world.define("*/15 * * * *")
        await world.run("2026-03-01T12:31:00Z")
        facts = [(event.name, event.facts.get("reason")) for event in heard.events if event.name == "run_finished"]
        assert facts == [("run_finished", "overlap")]
        assert len(heard.named("launch_completed")) == 1

    play(script())
