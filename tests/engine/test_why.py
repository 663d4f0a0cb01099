"""Why: each account is decided by the revision that answered for the period, and says what is true."""

from dataclasses import replace

import pytest

from kron.engine.why import why
from kron.errors import NotFound
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.schedule.policy import KRON, SECOND, SERVICE, Completion
from kron.timing.zone import instant_of, rfc3339_ms
from tests.engine.world import World, play

NOON = "2026-03-01T12:00:00Z"


def ms(text):
    return instant_of(text) * 1000


def test_why_of_a_jittered_run_says_when_it_was_due():
    async def scene():
        world = World("2026-03-01T11:00:00Z", duration=1)
        await world.define("0 * * * *", replace(SERVICE, jitter=300 * SECOND))
        await world.run("2026-03-01T12:30:00Z")
        (run,) = await world.store.runs("job", 1)
        assert run.due % 3_600_000
        told = await why(world.store, "job", ms("2026-03-01T12:30:00Z"))
        assert told.decision["chosen_time"] == rfc3339_ms(run.due)
        assert f"period {NOON}: chosen {rfc3339_ms(run.due)} (jitter of up to 5m before or after)" in list(told.lines())

    play(scene())


def test_why_uses_the_policy_of_the_revision_that_recorded_the_run():
    """The jitter was taken away after the run: its account still has it."""

    async def scene():
        world = World("2026-03-01T11:00:00Z", duration=1)
        await world.define("0 * * * *", replace(SERVICE, jitter=300 * SECOND))
        await world.run("2026-03-01T12:30:00Z")
        (run,) = await world.store.runs("job", 1)
        await world.define("0 * * * *", SERVICE)
        told = await why(world.store, "job", ms("2026-03-01T12:20:00Z"))
        assert told.run == run
        assert told.revision.job.schedule.policy.jitter == 300 * SECOND
        assert told.decision["chosen_time"] == rfc3339_ms(run.due)

    play(scene())


async def ending(world, at):
    return (await why(world.store, "job", ms(at))).summary()


def test_why_of_a_period_before_the_schedule_does_not_blame_the_pause():
    async def scene():
        world = World("2026-03-01T11:30:00Z")
        await world.define("0 * * * *")
        await world.registrar.pause("job")
        assert await ending(world, "2026-03-01T10:10:00Z") == (
            "no record: The period is earlier than its schedule, which was defined at 2026-03-01T11:30:00Z."
        )
        assert await ending(world, "2026-03-01T12:00:00Z") == "no record yet: The schedule is paused."

    play(scene())


def test_why_never_says_that_a_past_period_falls_due():
    async def scene():
        world = World("2026-03-01T11:30:00Z")
        await world.define("0 * * * *")
        assert (
            await ending(world, "2026-03-01T12:00:00Z") == "no record yet: The period is due at 2026-03-01T12:00:00Z."
        )
        world.sleep("2026-03-01T12:10:00Z")
        assert await ending(world, "2026-03-01T12:10:00Z") == (
            "no record yet: The period was due at 2026-03-01T12:00:00Z, and no worker has handled it yet."
        )

    play(scene())


def test_why_inside_a_window_that_was_not_owed_says_so():
    """Defined at 00:30 under a first sight of `after`: the period of midnight is not this schedule's."""

    async def scene():
        world = World("2026-03-01T00:30:00Z")
        await world.define("0 0 * * * @win(after,3h)", replace(SERVICE))
        assert (await ending(world, "2026-03-01T00:40:00Z")).startswith(
            "no record: The period is earlier than its schedule"
        )

    play(scene())


def test_why_of_a_period_that_was_due_before_its_schedule_and_comes_later_says_so():
    async def scene():
        world = World("2026-03-01T11:58:00Z")
        await world.define("0 * * * * @win(around,110m) @dist(skewEarly)")
        (told,) = {await ending(world, at) for at in ("2026-03-01T12:00:00Z", "2026-03-01T12:30:00Z")}
        assert told == "no record: The period was due before its schedule was defined at 2026-03-01T11:58:00Z."

    play(scene())


def test_why_of_a_suspended_and_of_a_deleted_schedule_says_so():
    async def scene():
        world = World("2026-03-01T11:30:00Z")
        await world.define("0 * * * * @policy(suspend=true)")
        assert await ending(world, "2026-03-01T12:00:00Z") == "no record yet: The schedule is suspended by its policy."
        await world.registrar.delete("job")
        assert await ending(world, "2026-03-01T12:00:00Z") == (
            "no record: The schedule was deleted before the period was due."
        )

    play(scene())


def test_why_of_an_older_period_uses_the_calendar_of_its_time():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *")
        await world.run("2026-03-01T12:10:00Z")
        await world.define("30 8 * * *")
        told = await why(world.store, "job", ms("2026-03-01T12:05:00Z"))
        assert (told.period.id, told.revision.number) == (NOON, 1)
        assert told.summary() == "executed: The run succeeded."

    play(scene())


def test_why_says_that_no_living_worker_can_launch_the_target():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *")
        never = "No living worker can launch 'test', the target of this schedule."
        assert [*(await why(world.store, "job", ms(NOON))).lines()][-1] == never
        await world.tick()
        assert never not in (await why(world.store, "job", ms(NOON))).lines()
        await world.worker.leave()
        told = await why(world.store, "job", ms(NOON))
        assert not told.launchable
        assert [*told.lines()][-1] == f"{never} Such a worker was last alive at 2026-03-01T11:30:00Z."
        assert (await why(world.store, "job", ms(NOON), shared=False)).launchable
        await world.registrar.pause("job")
        assert (await why(world.store, "job", ms(NOON))).launchable, "the pause is why it does not run"

    play(scene())


def test_why_of_a_run_that_waits_says_that_no_living_worker_can_launch_it():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *")
        await world.registrar.backfill(
            "job", instant_of("2026-03-01T09:00:00Z"), instant_of("2026-03-01T09:00:00Z"), "b"
        )
        assert not (await why(world.store, "job", ms("2026-03-01T09:00:00Z"))).launchable
        await world.run("2026-03-01T11:31:00Z")
        await world.worker.leave()
        told = await why(world.store, "job", ms("2026-03-01T09:00:00Z"))
        assert told.launchable, "it has ended"

    play(scene())


def test_why_tells_withheld_attempts_from_those_that_were_sent():
    async def scene():
        world = World("2026-03-01T11:59:00Z", answers=[LaunchResult.UNSENT, LaunchResult.RETRYABLE])
        await world.define("0 * * * *")
        await world.run(NOON)
        first = (await why(world.store, "job", ms(NOON))).summary()
        await world.tick()
        second = (await why(world.store, "job", ms(NOON))).summary()
        assert first.endswith(" Attempts: 1. Withheld by a worker and not sent: 1.")
        assert second.endswith(" Attempts: 2. Withheld by a worker and not sent: 1.")

    play(scene())


def test_why_of_the_time_of_a_request_is_about_the_requested_run():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *")
        await world.run("2026-03-01T12:10:00Z")
        run = await world.registrar.trigger("job", "release-42")
        await world.run("2026-03-01T12:20:00Z")
        told = await why(world.store, "job", ms("2026-03-01T12:10:00Z"))
        assert (told.run.key, told.decision) == (run.key, None)
        assert [*told.lines()][1:3] == [
            "requested as release-42, 2026-03-01T12:10:00.000Z",
            "executed: The run succeeded.",
        ]
        later = await why(world.store, "job", ms("2026-03-01T12:10:01Z"))
        assert (later.period.id, later.run.trigger) == (NOON, ""), "the last period up to that second"

    play(scene())


def test_why_of_a_time_with_a_period_and_a_request_is_about_the_period():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *")
        await world.run(NOON)
        run = await world.registrar.trigger("job", "release-42")
        assert run.nominal == instant_of(NOON)
        await world.run("2026-03-01T12:20:00Z")
        assert (await why(world.store, "job", ms(NOON))).run.trigger == ""
        told = await why(world.store, "job", ms(NOON), run_key=run.key)
        assert (told.run.key, told.decision) == (run.key, None)

    play(scene())


def test_why_by_key_is_about_any_run_of_the_schedule():
    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *")
        await world.run("2026-03-01T12:10:00Z")
        (scheduled,) = await world.store.runs("job", 1)
        nine = instant_of("2026-03-01T09:00:00Z")
        (repeated,) = await world.registrar.backfill("job", nine, nine, "b")
        for run in (scheduled, repeated):
            told = await why(world.store, "job", ms("2026-03-01T13:00:00Z"), run_key=run.key)
            assert (told.run.key, told.period.nominal) == (run.key, run.nominal)
            assert told.decision["period_id"] == told.period.id, "the calendar has this period"
        assert f"requested as {repeated.trigger}, 2026-03-01T12:10:00.000Z" in told.lines()
        for key in ("0" * 64, "", "x"):
            missing = why(world.store, "other" if not key else "job", ms(NOON), run_key=key)
            with pytest.raises(NotFound):
                await missing

    play(scene())


def test_why_finds_a_request_behind_many_newer_runs(monkeypatch):
    monkeypatch.setattr("kron.engine.why.PAGE_SIZE", 2)

    async def scene():
        world = World("2026-03-01T12:00:30Z", duration=1)
        await world.define("* * * * *", SERVICE)
        run = await world.registrar.trigger("job", "r")
        await world.run("2026-03-01T12:10:00Z")
        assert (await why(world.store, "job", ms("2026-03-01T12:00:30Z"))).run.key == run.key

    play(scene())


RETRIED = replace(SERVICE, completion=Completion.REPORTED, retry_after=7200 * SECOND, retry_attempts=1)
RETRY_DROPPED = (
    "executed: The run failed. Reason: The target reported a failure. Kron did not run it again, because {}."
)


async def failed_at_noon(policy=RETRIED):
    """A world whose run of noon has failed, and may run again two hours later."""
    world = World("2026-03-01T11:59:00Z")
    await world.define("0 * * * *", policy)
    await world.run(NOON)
    (run,) = await world.store.runs("job", 1)
    await world.registrar.report(run.key, Report.FAILED)
    return world


def test_why_says_that_another_run_took_the_place_of_a_retry():
    async def scene():
        world = await failed_at_noon()
        assert "will run it again" in await ending(world, NOON)
        await world.run("2026-03-01T13:00:00Z")
        assert await ending(world, NOON) == RETRY_DROPPED.format("a newer period started first")

    play(scene())


def test_why_says_that_the_deletion_ended_a_retry():
    async def scene():
        world = await failed_at_noon()
        await world.registrar.delete("job")
        assert await ending(world, NOON) == RETRY_DROPPED.format("the schedule was deleted")

    play(scene())


@pytest.mark.parametrize("policy", [replace(RETRIED, retry_attempts=0), replace(RETRIED, retry_after=None)])
def test_why_does_not_speak_of_retries_that_the_policy_does_not_allow(policy):
    async def scene():
        world = await failed_at_noon(policy)
        await world.run("2026-03-01T13:00:00Z")
        assert await ending(world, NOON) == "executed: The run failed. Reason: The target reported a failure."

    play(scene())


def test_why_of_a_schedule_that_has_only_requested_runs_names_them():
    async def scene():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define("0 9 1 1 *")
        for name in ("one", "two"):
            await world.registrar.trigger("job", name)
        await world.run("2026-03-01T12:20:00Z")
        told = await why(world.store, "job", ms("2026-03-01T12:20:00Z"))
        assert told.run is None and "no record: The period is earlier than its schedule" in told.summary()
        runs = {run.trigger: run.key for run in await world.store.runs("job", 5)}
        for name in ("one", "two"):
            end = "executed: The run succeeded." if name == "one" else "skipped: Another run"
            start = f"requested as {name}, 2026-03-01T12:10:00.000Z: {end}"
            assert [line for line in told.lines() if line.startswith(start) and line.endswith(f" Key: {runs[name]}.")]
        assert (await why(world.store, "job", ms("2026-03-01T12:20:00Z"), run_key=runs["one"])).requested == ()
        assert (await why(world.store, "job", ms("2026-03-01T12:09:59Z"))).requested == (), "requested later"

    play(scene())


@pytest.mark.parametrize(("seconds", "is_told"), [(1, False), (2, True)])
def test_start_after_the_deadline_of_a_run_that_was_claimed_in_time_is_explained(seconds, is_told):
    """A run that is claimed within one second of its due time is on time. Its launch can take longer."""

    async def scene():
        world = World("2026-03-01T11:30:00Z", duration=1)
        await world.define("0 * * * *", replace(KRON, deadline=0))
        await world.run("2026-03-01T12:10:00Z")
        told = await why(world.store, "job", ms(NOON))
        late = replace(told, run=told.run._replace(sent=told.run.due + seconds * 1000))
        text = "It started later than its deadline of 0s, which was met when a worker claimed the run."
        assert (text in late.lines()) == is_told
        assert text not in replace(late, run=late.run._replace(failures=1)).lines(), "it ran again after a failure"

    play(scene())
