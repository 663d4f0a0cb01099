"""Why: each account is decided by the revision that answered for the period, and says what is true."""

from dataclasses import replace

from kron.core.policy import SECOND, SERVICE
from kron.core.zone import instant_of, rfc3339_ms
from kron.why import why
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
        assert f"period {NOON}: chosen {rfc3339_ms(run.due)} (jitter of up to 5m before or after)" in list(told.words())

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
