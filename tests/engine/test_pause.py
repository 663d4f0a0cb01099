"""Pauses: by whom, why and until when; and what becomes of the periods that pass meanwhile."""

import asyncio
from dataclasses import replace

import pytest

from kron import KronError
from kron.engine.events import Memory
from kron.engine.registrar import Actor, Registrar
from kron.engine.why import why
from kron.engine.worker import Worker
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.outcome import Reason
from kron.stores.sqlite import SqliteStore
from kron.timing.schedule.policy import DECLARATIVE, KRON, MINUTE, SERVICE, Catchup, Overlap
from kron.timing.zone import instant_of
from tests.engine.world import Still, Target, World, play

QUARTERS = "*/15 * * * *"
START, UNTIL = "2026-03-01T12:10:00Z", "2026-03-01T13:00:00Z"
ANN = Actor("ann", "release freeze")


def ms(text):
    return instant_of(text) * 1000


def told(account):
    return list(account.lines())[2:]


async def frozen(policy, until=UNTIL):
    """A schedule of every quarter of an hour that ann pauses at 12:10, and that nobody resumes."""
    world = World(START, duration=1)
    await world.define(QUARTERS, policy)
    await world.registrar.pause("job", ANN, until=ms(until))
    return world


@pytest.mark.parametrize(
    ("policy", "story"),
    [
        (SERVICE, "3 skipped (paused), 2 executed"),
        (DECLARATIVE, "3 skipped (paused), 2 executed"),
        (replace(KRON, deadline=20 * MINUTE), "2 missed (deadline), 3 executed"),
    ],
    ids=["service", "declarative", "kron"],
)
def test_a_pause_ends_by_itself_and_the_period_of_that_instant_runs(policy, story):
    async def script():
        world = await frozen(replace(policy, overlap=Overlap.ALLOW))
        await world.run("2026-03-01T13:20:00Z")
        case = await world.registrar.get("job")
        assert (case.paused, case.paused_until) == (False, None)
        assert await world.story() == story
        at = [launch.run.nominal for launch in world.target.starts]
        assert at[-2:] == [instant_of("2026-03-01T13:00:00Z"), instant_of("2026-03-01T13:15:00Z")]

    play(script())


def test_it_ends_at_its_instant_whenever_somebody_comes():
    """An hour later: what passed after the pause is late, what passed in it is not."""

    async def script():
        world = await frozen(replace(SERVICE, catchup=Catchup.ALL, overlap=Overlap.ALLOW))
        world.sleep("2026-03-01T14:05:00Z")
        await world.run("2026-03-01T14:06:00Z")
        assert await world.story() == "3 skipped (paused), 5 executed"
        (gap,) = await world.store.gaps("job")
        assert gap.last == instant_of("2026-03-01T12:45:00Z")

    play(script())


def test_both_ends_of_a_pause_are_kept_for_ever():
    async def script():
        world = await frozen(SERVICE)
        world.worker.sink = heard = Memory()
        world.sleep("2026-03-01T13:07:00Z")
        await world.tick()
        assert await world.store.actions("job") == [
            ScheduleAction(ActionKind.PAUSED, ms(START), ms(UNTIL), "ann", "release freeze"),
            ScheduleAction(ActionKind.RESUMED, ms(UNTIL), None, "", "the pause expired"),
        ]
        (event,) = heard.named("pause_expired")
        assert event.facts == {"identity": "job", "until": ms(UNTIL)}

    play(script())


def test_who_asks_after_the_end_finds_it_ended():
    """The registrar does what a worker would have done: the pause was over before the request."""

    async def script():
        world = await frozen(SERVICE)
        world.sleep("2026-03-01T13:07:00Z")
        await world.registrar.pause("job", Actor("bob"))
        acts = [(act.kind, act.at, act.actor) for act in await world.store.actions("job")]
        assert acts[1:] == [(ActionKind.RESUMED, ms(UNTIL), ""), (ActionKind.PAUSED, ms("2026-03-01T13:07:00Z"), "bob")]
        (gap,) = await world.store.gaps("job")
        assert gap.reason is Reason.PAUSED

    play(script())


def test_a_pause_can_be_made_longer_shorter_or_endless():
    async def script():
        world = await frozen(SERVICE)
        for until in (ms("2026-03-01T14:00:00Z"), ms("2026-03-01T12:20:00Z"), None):
            assert (await world.registrar.pause("job", until=until)).paused_until == until
        await world.run("2026-03-01T15:00:00Z")
        assert await world.story() == "nothing"
        assert (await world.registrar.get("job")).paused
        before = await world.store.actions("job")
        await world.registrar.pause("job")  # it is so already
        assert await world.store.actions("job") == before

    play(script())


def test_a_pause_that_would_be_over_is_refused():
    async def script():
        world = World(START)
        await world.define(QUARTERS)
        with pytest.raises(KronError, match="pause end 2026-03-01T12:10:00Z is in the past") as refused:
            await world.registrar.pause("job", until=ms(START))
        assert refused.value.code == "PAST"
        assert await world.store.actions("job") == []

    play(script())


def test_a_new_definition_leaves_the_pause_and_its_end():
    async def script():
        world = await frozen(SERVICE)
        case = await world.define("*/10 * * * *", SERVICE)
        assert (case.paused, case.paused_until) == (True, ms(UNTIL))
        await world.run("2026-03-01T13:01:00Z")
        assert [launch.run.nominal for launch in world.target.starts] == [instant_of(UNTIL)]

    play(script())


@pytest.mark.parametrize("policy", [SERVICE, DECLARATIVE, KRON], ids=["service", "declarative", "kron"])
@pytest.mark.parametrize("deleted", [False, True])
def test_what_passed_in_a_pause_is_answered_for_when_it_is_edited_or_deleted(policy, deleted):
    async def script():
        world = await frozen(policy)
        world.sleep("2026-03-01T12:40:00Z")
        if deleted:
            await world.registrar.delete("job")
        else:
            await world.define("*/10 * * * *", policy)
        assert await world.story() == "2 skipped (paused)"
        await world.run("2026-03-01T12:59:00Z")
        assert await world.story() == "2 skipped (paused)"
        span = "2 periods from 2026-03-01T12:15:00Z to 2026-03-01T12:30:00Z"
        ending = f"skipped: The schedule was paused. The period is one of {span}."
        assert (await why(world.store, "job", ms("2026-03-01T12:30:00Z"))).summary() == ending

    play(script())


def test_a_deleted_schedule_does_not_awake():
    async def script():
        world = await frozen(SERVICE)
        await world.registrar.delete("job", Actor("eve", "not needed"))
        await world.run("2026-03-01T14:00:00Z")
        case = (await world.store.get(["job"]))[0]
        assert case.deleted
        assert (await world.store.actions("job"))[-1] == ScheduleAction(
            ActionKind.DELETED, ms(START), None, "eve", "not needed"
        )
        assert world.target.starts == []
        account = await why(world.store, "job", ms("2026-03-01T13:20:00Z"))
        assert told(account) == [
            "deleted by eve, 2026-03-01T12:10:00Z: not needed",
            "no record: The schedule was deleted before the period was due.",
        ]
        await world.define(QUARTERS, SERVICE)
        await world.run("2026-03-01T14:15:00Z")
        assert (await why(world.store, "job", ms("2026-03-01T14:15:00Z"))).action is None

    play(script())


def test_why_says_who_paused_it_and_what_for():
    async def script():
        world = await frozen(SERVICE)
        at = ms("2026-03-01T12:31:00Z")
        paused = "paused by ann, 2026-03-01T12:10:00Z until 2026-03-01T13:00:00Z: release freeze"
        assert told(await why(world.store, "job", at, shared=False)) == [
            paused,
            "no record yet: The schedule is paused until 2026-03-01T13:00:00Z.",
        ]
        later = await why(world.store, "job", ms("2026-03-01T13:16:00Z"), shared=False)
        assert told(later) == ["no record yet: The period is due at 2026-03-01T13:15:00Z."]
        await world.run("2026-03-01T13:20:00Z")
        swallowed = "The period is one of 3 periods from 2026-03-01T12:15:00Z to 2026-03-01T12:45:00Z."
        assert told(await why(world.store, "job", at, shared=False)) == [
            paused,
            f"skipped: The schedule was paused. {swallowed}",
        ]
        assert told(await why(world.store, "job", ms("2026-03-01T13:16:00Z"))) == [
            "executed: The run succeeded.",
            "started 2026-03-01T13:15:00.000Z, finished 2026-03-01T13:15:00.000Z",
        ]

    play(script())


def test_a_pause_and_its_end_survive_restarts(tmp_path):
    """Each time from the file alone: paused by one process, ended by another, seen by a third."""

    async def script():
        world = World(START, duration=1)
        path, job = tmp_path / "kron.db", (await world.define(QUARTERS, SERVICE)).job

        async def open_and(work):
            store = SqliteStore(path, world.clock)
            try:
                return await work(store)
            finally:
                await store.close()

        async def pause(store):
            await Registrar(store).upsert(job)
            await Registrar(store).pause("job", ANN, until=ms(UNTIL))

        async def work(store):
            worker = Worker(store, {"test": target}, Still(), owner=f"w{world.clock.now()}")
            return await worker.tick() + await worker.tick()

        async def look(store):
            return await Registrar(store).get("job"), await store.actions("job"), await store.gaps("job")

        target = Target(world)
        await open_and(pause)
        world.sleep("2026-03-01T12:45:00Z")
        await open_and(work)
        case, acts, gaps = await open_and(look)
        assert (case.paused, case.paused_until, case.next_check_at, len(acts), gaps) == (
            True,
            ms(UNTIL),
            ms(UNTIL),
            1,
            [],
        )
        world.sleep(UNTIL)
        await open_and(work)
        case, acts, (gap,) = await open_and(look)
        assert (case.paused, [act.kind for act in acts], gap.count) == (
            False,
            [ActionKind.PAUSED, ActionKind.RESUMED],
            3,
        )
        assert [launch.run.nominal for launch in target.starts] == [instant_of(UNTIL)]

    asyncio.run(script())
