"""What may be asked of the registrar: pages of schedules and of runs, and the record of who did what."""

from dataclasses import replace

import pytest

from kron import KronError
from kron.engine.registrar import Actor
from kron.engine.why import why
from kron.rules.action import ActionKind
from kron.timing.schedule.policy import SERVICE
from kron.timing.zone import instant_of, rfc3339
from tests.engine.world import World, play

NAMES = ["mail/a", "mail/b", "mail/c", "pay/a", "pay/b"]


async def populated():
    world = World("2026-03-01T12:10:00Z", duration=1)
    for name in NAMES:
        await world.define("*/15 * * * *", SERVICE, identity=name)
    await world.registrar.pause("mail/b", Actor("ann", "quiet"))
    await world.registrar.delete("pay/b", Actor("bob", "moved"))
    return world


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["mail/a", "mail/b", "mail/c", "pay/a"]),
        ({"prefix": "mail/"}, ["mail/a", "mail/b", "mail/c"]),
        ({"prefix": "mail/", "paused": True}, ["mail/b"]),
        ({"paused": False}, ["mail/a", "mail/c", "pay/a"]),
        ({"deleted": True}, ["pay/b"]),
        ({"prefix": "none"}, []),
    ],
    ids=str,
)
def test_schedules_are_listed_by_name_pause_and_deletion(asked, names):
    async def script():
        world = await populated()
        assert [case.identity for case in await world.registrar.schedules(**asked)] == names

    play(script())


def test_schedules_come_by_the_page():
    async def script():
        world, seen = await populated(), []
        page = await world.registrar.schedules("mail/", limit=2)
        while page:
            assert len(page) <= 2
            seen += [case.identity for case in page]
            page = await world.registrar.schedules("mail/", after=seen[-1], limit=2)
        assert seen == NAMES[:3]

    play(script())


@pytest.mark.req("SVC-GOAL-OBS")
def test_recent_runs_come_newest_first_and_by_the_page_with_when_it_runs_next():
    async def script():
        world = await populated()
        await world.run("2026-03-01T14:10:00Z")
        newest = await world.registrar.runs("mail/a", limit=3)
        assert [run.nominal % 86_400 for run in newest] == [50_400, 49_500, 48_600]  # 14:00, 13:45, 13:30
        older = await world.registrar.runs("mail/a", before=newest[-1].key)
        assert len(older) == 5
        assert [*newest, *older] == await world.registrar.runs("mail/a")
        ahead = await world.registrar.preview("mail/a")
        assert ahead == [newest[0].due + n * 900_000 for n in range(1, 6)]

    play(script())


def test_the_runs_of_a_deleted_schedule_can_still_be_seen():
    async def script():
        world = await populated()
        await world.run("2026-03-01T12:16:00Z")
        await world.registrar.delete("pay/a")
        assert len(await world.registrar.runs("pay/a")) == 1
        with pytest.raises(KronError, match="schedule 'pay/z' does not exist"):
            await world.registrar.runs("pay/z")

    play(script())


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_page_has_a_bound(limit):
    async def script():
        world = await populated()
        for asked in (world.registrar.schedules(limit=limit), world.registrar.runs("mail/a", limit=limit)):
            with pytest.raises(KronError, match=rf"page size {limit} is out of range \(1-1000\)"):
                await asked

    play(script())


def test_who_did_what_and_why_is_kept_with_the_time():
    async def script():
        world = await populated()
        at = int(world.clock.now() * 1000)
        (paused,), (deleted,) = await world.store.actions("mail/b"), await world.store.actions("pay/b")
        assert (paused.kind, paused.at, paused.actor, paused.note) == (ActionKind.PAUSED, at, "ann", "quiet")
        assert (deleted.kind, deleted.at, deleted.actor, deleted.note) == (ActionKind.DELETED, at, "bob", "moved")
        await world.registrar.resume("mail/b", Actor("ann", "enough"))
        assert [(act.kind, act.note) for act in await world.store.actions("mail/b")][1:] == [
            (ActionKind.RESUMED, "enough")
        ]

    play(script())


@pytest.mark.parametrize(
    ("more", "until", "ahead"),
    [
        ({}, None, ["12:15", "12:30", "12:45", "13:00", "13:15"]),
        ({"end": "2026-03-01T12:30:00Z"}, None, ["12:15", "12:30"]),
        ({"start": "2026-03-01T12:45:00Z"}, None, ["13:00", "13:15", "13:30", "13:45", "14:00"]),
        ({}, "2026-03-01T12:45:00Z", ["12:45", "13:00", "13:15", "13:30", "13:45"]),
        ({"end": "2026-03-01T12:30:00Z"}, "2026-03-01T12:45:00Z", []),
    ],
    ids=str,
)
def test_the_preview_knows_when_it_starts_ends_and_awakes(more, until, ahead):
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define("*/15 * * * *", SERVICE, **{name: instant_of(text) for name, text in more.items()})
        if until:
            await world.registrar.pause("job", until=instant_of(until) * 1000)
        seen = await world.registrar.preview("job")
        assert [rfc3339(at // 1000)[11:16] for at in seen] == ahead
        if ahead:
            await world.run(max(seen) / 1000)
            assert [launch.run.due for launch in world.target.starts] == seen

    play(script())


def test_what_the_asker_has_not_seen_is_not_changed():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        registrar, case = world.registrar, await world.define("*/15 * * * *", SERVICE)
        changed = replace(case.job, description="another")
        attempts = {
            "upsert": lambda expected: registrar.upsert(changed, expected=expected),
            "pause": lambda expected: registrar.pause("job", expected=expected),
            "resume": lambda expected: registrar.resume("job", expected=expected),
            "delete": lambda expected: registrar.delete("job", expected=expected),
        }
        for attempt in attempts.values():
            for expected in (0, 2):
                with pytest.raises(KronError, match="REVISION"):
                    await attempt(expected)
        assert await registrar.get("job") == case
        assert (await attempts["upsert"](1)).revision == 2
        assert (await attempts["pause"](2)).paused
        assert not (await attempts["resume"](2)).paused
        assert (await attempts["delete"](2)).deleted
        with pytest.raises(KronError, match="REVISION"):
            await attempts["upsert"](2)  # what is deleted has no revision
        assert (await attempts["upsert"](0)).revision == 3

    play(script())


def test_a_preview_of_what_seldom_runs_ends_soon():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define("0 0 29 2 * @tz(Europe/Berlin)", SERVICE)
        ahead = await world.registrar.preview("job", 1_000)
        assert len(ahead) == 24  # of the coming hundred years: 2100 is none
        assert ahead == sorted(ahead)

    play(script())


def test_a_preview_is_in_the_order_of_the_times_that_windows_choose():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define("* * * * * @win(after,10m)", SERVICE)
        few, many = await world.registrar.preview("job", 20), await world.registrar.preview("job", 500)
        assert few == many[:20] == sorted(few)

    play(script())


def test_many_are_defined_in_one_go_as_one_by_one():
    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define("*/15 * * * *", SERVICE, identity="old")
        (old,) = await world.store.get(["old"])
        await world.registrar.pause("old", until=instant_of("2026-03-01T12:20:00Z") * 1000)
        await world.define("*/15 * * * *", SERVICE, identity="same")
        (same,) = await world.store.get(["same"])
        await world.registrar.delete((await world.define("0 1 * * *", SERVICE, identity="gone")).identity)
        world.sleep("2026-03-01T12:30:00Z")  # the pause of the old one is over, and nobody has seen it
        jobs = [replace(old.job, identity=name) for name in ("new", "gone", "new")]
        jobs += [
            replace(old.job, description="changed"),
            same.job,
            replace(old.job, identity="new", description="last"),
        ]
        made = await world.registrar.upsert_all([(job, Actor("ann", str(n))) for n, job in enumerate(jobs)])
        assert [case.job for case in made] == jobs
        assert [case.revision for case in made] == [1, 2, 1, 2, 1, 2]
        assert [case.paused for case in made] == [False] * 6
        stored = await world.store.get(["new", "gone", "old", "same"])
        assert [case.revision for case in stored] == [2, 2, 2, 1]
        assert [(r.actor, r.note) for r in await world.store.revisions("new")] == [("ann", "0"), ("ann", "5")]

    play(script())


def test_why_finds_a_period_however_many_came_after_it(monkeypatch):
    monkeypatch.setattr("kron.engine.why.MAX_RECORDS", 3)

    async def script():
        world = World("2026-03-01T12:10:00Z", duration=1)
        await world.define("* * * * *", SERVICE)
        await world.run("2026-03-01T12:30:00Z")
        told = await why(world.store, "job", instant_of("2026-03-01T12:12:30Z") * 1000)
        assert told.run is not None
        assert told.run.nominal == instant_of("2026-03-01T12:12:00Z")

    play(script())
