"""What is remembered: the classes of tasks, atomic overrides, orphans, and state that cannot be read."""

import asyncio
import json
import sqlite3
from datetime import timedelta

import pytest

from kron import DeclarativeScheduler
from kron.apps.declarative import overrides
from kron.apps.declarative.errors import (
    SchedulerError,
    TaskInvalidStructureError,
    TaskInvalidTypeError,
    TaskInvalidValueError,
    TaskMissingFieldError,
    TaskTryDeserializeError,
)
from kron.apps.declarative.persisted import TaskState, read_record
from kron.apps.wiring import open_store
from kron.engine.events import Memory
from tests.embedded.stage import play

HOURLY = "0 * * * *"


def kinds(stage, nth=-1):
    """The classes of the tasks at an initialization."""
    facts = stage.heard.named("SchedulerInitializationCompleted")[nth].facts
    return {kind: names for kind, names in facts.items() if names}


async def lived(stage, *tasks, seconds=10):
    """One life with those tasks."""
    scheduler = stage.scheduler()
    await scheduler.initialize(list(tasks))
    await asyncio.sleep(seconds)
    await scheduler.stop()


@pytest.mark.req("DECL-PERS-CLASSIFY", "DECL-PERS-NEW", "DECL-PERS-PRESERVED", "DECL-PERS-OVERRIDDEN")
@pytest.mark.req("DECL-PERS-ORPHANED", "DECL-IDEM-OVERRIDE")
def test_every_task_is_of_a_class():
    async def script(stage):
        scheduler = stage.scheduler()
        given = [stage.task(n, HOURLY, 5) for n in ("same", "changed", "gone")]
        await scheduler.initialize([*given, stage.task("hung", HOURLY, lasts=1e9)])
        await asyncio.sleep(10)
        stage.kill()
        again = [stage.task("same", HOURLY, 5), stage.task("changed", "30 * * * *", 5), stage.task("new", HOURLY)]
        await lived(stage, *again, stage.task("hung", HOURLY))

    assert kinds(play(script)) == {
        "new": ("new",),
        "preserved": ("same",),
        "overridden": ("changed",),
        "orphaned": ("hung",),
        "dropped": ("gone",),
    }


@pytest.mark.req("DECL-PERS-IDENTICAL")
@pytest.mark.parametrize(
    ("cron", "delay", "kind"),
    [
        (HOURLY, 5, "preserved"),
        ("0  * * * *", 5, "overridden"),  # a space more
        ("00 * * * *", 5, "overridden"),
        (HOURLY, 5.000001, "overridden"),
        (HOURLY, 6, "overridden"),
        ("30 * * * *", 5, "overridden"),
    ],
)
def test_identical_is_name_text_and_delay_to_the_letter(cron, delay, kind):
    async def script(stage):
        await lived(stage, stage.task("a", HOURLY, 5))
        await lived(stage, stage.task("a", cron, delay))
        assert (await stage.record("a")).expression == cron
        assert (await stage.record("a")).delay == timedelta(seconds=delay)

    assert kinds(play(script)) == {kind: ("a",)}


@pytest.mark.req("DECL-PERS-OVERRIDDEN", "DECL-IDEM-OVERRIDE", "DECL-START-LOAD")
def test_an_overridden_task_keeps_its_history():
    async def script(stage):
        await lived(stage, stage.task("a", HOURLY))
        before = await stage.record("a")
        await lived(stage, stage.task("a", "30 12 * * *", 7), seconds=60)
        after = await stage.record("a")
        assert (after.last_attempt_at, after.last_success_at) == (before.last_attempt_at, before.last_success_at)
        assert len(stage.ran) == 1
        await lived(stage, stage.task("a", "30 12 * * *", 7), seconds=3600)

    stage = play(script)
    assert stage.times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:30:00Z"]
    assert [revision.number for revision in stage.store.history["a"]] == [1, 2]


@pytest.mark.req("DECL-PERS-OVERRIDDEN")
def test_what_the_new_expression_would_have_had_since_the_last_run_runs_once():
    async def script(stage):
        await lived(stage, stage.task("a", HOURLY))
        await stage.until("2026-03-10T12:40:00Z")
        await lived(stage, stage.task("a", "10,20,30 * * * *"))
        await lived(stage, stage.task("a", "35 * * * *"), seconds=60)  # which was before that run

    assert play(script).times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:40:00Z"]


@pytest.mark.req("DECL-PERS-ORPHANED", "DECL-RT-R2", "DECL-IDEM-RECOVER")
def test_an_orphan_starts_again_at_once():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0 12 * * *", 600, lasts=1e9)])
        await asyncio.sleep(100)
        stage.kill()
        await asyncio.sleep(100)
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "0 13 * * *", 600)])  # its configuration is the new one
        await asyncio.sleep(5)
        assert (await stage.record("a")).expression == "0 13 * * *"
        await stage.until("2026-03-10T13:05:00Z")
        await scheduler.stop()

    stage = play(script)
    assert stage.times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:03:40Z", "2026-03-10T13:00:00Z"]
    assert [event.name for event in stage.heard.events if event.name.endswith("Started")][3:] == [
        "SchedulerInitializationStarted",
        "PollingStarted",
        "TaskRetryStarted",
        "TaskRunStarted",
    ]


@pytest.mark.req("DECL-PERS-ORPHANED")
def test_an_orphan_and_a_newer_due_are_one_run():
    async def script(stage):
        scheduler = stage.scheduler()
        await scheduler.initialize([stage.task("a", "* * * * *", lasts=1e9)])
        await asyncio.sleep(10)
        stage.kill()
        await stage.until("2026-03-10T12:07:30Z")
        await lived(stage, stage.task("a", "* * * * *"))

    stage = play(script)
    assert stage.times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:07:30Z"]
    names = [event.name for event in stage.heard.events if event.name.startswith("Task")]
    assert names == ["TaskRunStarted", "TaskRetryPreempted", "TaskRunStarted", "TaskRunCompleted"]


@pytest.mark.req("DECL-PERS-SCHEDID")
def test_each_life_has_an_identifier_of_its_own():
    async def script(stage):
        found = []
        for _ in range(3):
            await lived(stage, stage.task("a", "* * * * *"), seconds=60)
            found.append((await stage.record("a")).scheduler)
        assert len(set(found)) == 3
        assert all(one.startswith("scheduler-") for one in found)

    play(script)


@pytest.mark.req("DECL-THEORY-FIRSTCOMING")
def test_who_comes_back_is_new():
    async def script(stage):
        await lived(stage, stage.task("a", "0 12 * * *", 300, fails=1))  # it is to be tried again
        await lived(stage, seconds=1)
        await lived(stage, stage.task("a", "0 12 * * *"), seconds=1)  # the current minute counts,
        await lived(stage, seconds=1)
        await stage.until("2026-03-10T12:30:00Z")
        await lived(stage, stage.task("a", "0,20 12 * * *"), seconds=900)  # and what was before does not

    stage = play(script)
    assert stage.times() == ["2026-03-10T12:00:20Z", "2026-03-10T12:00:31Z"]
    assert kinds(stage) == {"new": ("a",)}


@pytest.mark.req("DECL-PERS-ATOMIC", "DECL-IDEM-PARTIAL")
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_overrides_are_written_together_or_not_at_all(kind, request, tmp_path, monkeypatch):
    """One of three does not hold: nothing is written, and the error says so."""
    heard = Memory()
    url = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/s.db"}.get(kind) or request.getfixturevalue("database")
    resolve = overrides._resolve

    async def spoiled(store, tasks, cases, now):
        found = await resolve(store, tasks, cases, now)
        bad = found.updates[1]
        found.updates[1] = bad._replace(before=bad.before._replace(cursor=1))
        return found

    async def script():
        scheduler = DeclarativeScheduler(url, timezone="UTC", on_event=heard)
        await scheduler.initialize([(name, "0 0 1 1 *", _ok, timedelta(0)) for name in "abc"])
        await scheduler.stop()
        monkeypatch.setattr(overrides, "_resolve", spoiled)
        with pytest.raises(SchedulerError, match="another one keeps changing the same tasks"):
            await scheduler.initialize([(name, "0 0 2 1 *", _ok, timedelta(0)) for name in "abc"])
        monkeypatch.undo()
        await scheduler.initialize([(name, "0 0 1 1 *", _ok, timedelta(0)) for name in "abc"])
        await scheduler.stop()

    asyncio.run(script())
    assert heard.named("SchedulerInitializationCompleted")[-1].facts["preserved"] == ("a", "b", "c")


async def _ok():
    pass


@pytest.mark.req("DECL-IDEM-WRITE", "DECL-PERS-ATOMIC")
def test_an_override_that_lost_a_race_is_tried_again(monkeypatch):
    resolve, times = overrides._resolve, []

    async def raced(store, tasks, cases, now):
        found = await resolve(store, tasks, cases, now)
        times.append(now)
        if len(times) == 1:  # somebody else writes the very same first
            assert all(await store.commit(found.updates, now, together=True))
        return found

    async def script(stage):
        await lived(stage, stage.task("a", HOURLY))
        monkeypatch.setattr(overrides, "_resolve", raced)
        await lived(stage, stage.task("a", "5 * * * *"))
        assert (await stage.record("a")).expression == "5 * * * *"

    stage = play(script)
    assert [revision.number for revision in stage.store.history["a"]] == [1, 2]


@pytest.mark.req("DECL-IDEM-RECOVER", "DECL-IDEM-PARTIAL", "DECL-PERS-ATOMIC")
def test_a_crash_at_every_way_to_and_from_the_store_leaves_a_state_that_goes_on():
    """The k-th way is the last: then another life finds all tasks as they were or as they were to be, and works."""

    def died_at(k):
        async def script(stage):
            await lived(stage, *(stage.task(name, HOURLY) for name in "abc"))
            scheduler = stage.scheduler()
            life, steps = stage.life, [k]

            async def step():
                steps[0] -= 1
                life.dead = life.dead or steps[0] <= 0
                if life.dead:
                    await stage.loop.never()

            life.step = step
            scheduler.initialize([stage.task(name, "1,30 * * * *", lasts=5) for name in "abc"])
            await asyncio.sleep(120)
            stage.kill()
            found = {(await stage.record(name)).expression for name in "abc"}
            assert found in ({HOURLY}, {"1,30 * * * *"})
            stage.ran.clear()
            await lived(stage, *(stage.task(name, "1,30 * * * *") for name in "abc"), seconds=2000)
            assert {(await stage.record(name)).state for name in "abc"} == {TaskState.AWAITING_RUN}
            assert all("2026-03-10T12:30:00Z" in stage.times(name) for name in "abc")
            ways.append(steps[0])

        ways = []
        play(script)
        return ways[0]

    assert any(died_at(k) > 0 for k in range(1, 200))  # until it has more than it needs


# State that cannot be read, in a real file.

DROP = "DROP TRIGGER schedules_are_revised; DROP TRIGGER schedules_go_forward; PRAGMA ignore_check_constraints = 1;"


def spoil(path, statement, *values):
    with sqlite3.connect(path) as file:
        file.executescript(DROP)
        file.execute(statement, values)
    file.close()


def policy(**changed):
    """A policy as it is stored, with some of it changed or, where None is given, missing."""

    def change(text):
        found = json.loads(text)
        for name, value in changed.items():
            if value is None:
                del found[name]
            else:
                found[name] = value
        return json.dumps(found)

    return change


SET = "UPDATE schedules SET {} = ? WHERE schedule_id = 'a'"
CORRUPT = [
    ("name", "", TaskMissingFieldError, "Missing required field: name", {"field": "name"}),
    (
        "policy",
        policy(retry_after=None),
        TaskMissingFieldError,
        "Missing required field: retryDelayMs",
        {"field": "retryDelayMs"},
    ),
    (
        "policy",
        policy(retry_after="soon"),
        TaskInvalidTypeError,
        "Invalid type for field 'retryDelayMs': expected number, got string",
        {"field": "retryDelayMs", "value": "soon", "expectedType": "number", "actualType": "string"},
    ),
    (
        "policy",
        policy(retry_after=-5_000_000),
        TaskInvalidValueError,
        "Invalid value for field 'retryDelayMs': must be non-negative",
        {"field": "retryDelayMs", "value": -5, "reason": "must be non-negative"},
    ),
    (
        "cursor",
        "yesterday",
        TaskInvalidTypeError,
        "Invalid type for field 'cursor': expected number, got string",
        {"field": "cursor", "value": "yesterday", "expectedType": "number", "actualType": "string"},
    ),
    (
        "schedule",
        "99 * * * *",
        TaskInvalidValueError,
        "Invalid value for field 'cronExpression': minute field value 99 is out of range (0-59)",
        {
            "field": "cronExpression",
            "value": "99 * * * *",
            "reason": "minute field value 99 is out of range (0-59)",
        },
    ),
    ("policy", "[]", TaskInvalidStructureError, None, {"value": "a"}),
    ("policy", "null", TaskInvalidStructureError, None, {"value": "a"}),
    ("policy", "not JSON", TaskInvalidStructureError, None, {"value": "a"}),
]


@pytest.mark.req("DECL-ERR-DES-BASE", "DECL-ERR-DES-MISSING", "DECL-ERR-DES-TYPE", "DECL-ERR-DES-VALUE")
@pytest.mark.req("DECL-ERR-DES-STRUCT", "DECL-LC-I2U")
@pytest.mark.parametrize(("column", "value", "kind", "message", "details"), CORRUPT, ids=range(len(CORRUPT)))
def test_state_that_cannot_be_read_is_refused_and_left_alone(tmp_path, column, value, kind, message, details):
    path, heard = tmp_path / "s.db", Memory()
    tasks = [("a", HOURLY, _ok, timedelta(seconds=1)), ("b", HOURLY, _ok, timedelta(seconds=1))]
    scheduler = DeclarativeScheduler(f"sqlite:{path}", timezone="UTC", on_event=heard)

    async def once(given):
        await scheduler.initialize(given)
        await scheduler.stop()

    asyncio.run(once(tasks))
    if callable(value):
        with sqlite3.connect(path) as file:
            value = value(file.execute("SELECT policy FROM schedules WHERE schedule_id = 'a'").fetchone()[0])
        file.close()
    spoil(path, SET.format(column), value)
    before = dump(path)

    with pytest.raises(TaskTryDeserializeError) as caught:
        asyncio.run(once([tasks[0], ("b", "5 * * * *", _ok, timedelta(0)), ("c", HOURLY, _ok, timedelta(0))]))
    assert type(caught.value) is kind
    assert message is None or str(caught.value) == message
    assert caught.value.details == details
    assert dump(path) == before
    assert heard.events[-1].name == "SchedulerInitializationFailed"


def without_delay(text):
    return json.dumps({**json.loads(text), "retry_after": None})


MISSING = [("source", "", "cronExpression"), ("policy", without_delay, "retryDelayMs")]


def spoiled(path, column, value):
    """A file of one task that has run once, and has lost something since."""
    ran = []

    async def once():
        scheduler = DeclarativeScheduler(f"sqlite:{path}", timezone="UTC")
        await scheduler.initialize([("a", "* * * * *", lambda: ran.append(1), timedelta(seconds=7))])
        async with asyncio.timeout(10):
            while not ran:
                await asyncio.sleep(0.01)
        await scheduler.stop()

    asyncio.run(once())
    if callable(value):
        with sqlite3.connect(path) as file:
            value = value(file.execute("SELECT policy FROM schedules").fetchone()[0])
        file.close()
    spoil(path, SET.format(column), value)


@pytest.mark.parametrize(("column", "value", "field"), MISSING)
def test_what_a_registered_task_has_lost_is_repaired_from_its_registration(tmp_path, caplog, column, value, field):
    path, heard = tmp_path / "s.db", Memory()
    spoiled(path, column, value)

    async def again():
        scheduler = DeclarativeScheduler(f"sqlite:{path}", timezone="UTC", on_event=heard)
        await scheduler.initialize([("a", HOURLY, _ok, timedelta(seconds=9))])
        await scheduler.stop()
        async with open_store(f"sqlite:{path}") as store:
            return await read_record(store, "a")

    found = asyncio.run(again())
    assert (found.expression, found.delay) == (HOURLY, timedelta(seconds=9))
    assert found.last_success_at is not None  # its history is kept
    assert kinds_of(heard) == [{"overridden": ("a",)}]
    assert f"has no {field}" in caplog.text


@pytest.mark.req("DECL-ERR-DES-MISSING")
@pytest.mark.parametrize(("column", "value", "field"), MISSING)
def test_what_nobody_registers_cannot_be_repaired(tmp_path, column, value, field):
    path = tmp_path / "s.db"
    spoiled(path, column, value)
    before = dump(path)
    with pytest.raises(TaskMissingFieldError, match=f"Missing required field: {field}") as caught:
        asyncio.run(_initialized(path))
    assert caught.value.details == {"field": field}
    assert dump(path) == before


async def _initialized(path):
    await DeclarativeScheduler(f"sqlite:{path}", timezone="UTC").initialize([("b", HOURLY, _ok, timedelta(0))])


def dump(path):
    with sqlite3.connect(path) as file:
        found = list(file.iterdump())
    file.close()
    return found


def test_a_file_keeps_tasks_from_one_process_to_the_next(tmp_path, monkeypatch):
    """The default: a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    heard, ran = Memory(), []

    async def once():
        scheduler = DeclarativeScheduler(timezone="UTC", on_event=heard)
        await scheduler.initialize([("a", "* * * * *", lambda: ran.append(1), timedelta(0))])
        async with asyncio.timeout(10):
            while not heard.named("TaskRunCompleted"):
                await asyncio.sleep(0.01)
        await scheduler.stop()

    asyncio.run(once())
    asyncio.run(once())
    assert (tmp_path / "scheduler.db").exists()
    assert kinds_of(heard) == [{"new": ("a",)}, {"preserved": ("a",)}]


def kinds_of(heard):
    said = heard.named("SchedulerInitializationCompleted")
    return [{kind: names for kind, names in event.facts.items() if names} for event in said]


def test_what_others_keep_in_the_same_store_is_left_alone():
    from kron import parse
    from kron.engine.registrar import Registrar
    from kron.timing.job import Job

    async def script(stage):
        await Registrar(stage.store).upsert(Job("other", parse("1 12 * * *", dialect="kron"), target="http://x"))
        await lived(stage, stage.task("a", HOURLY), seconds=50)
        assert not stage.store.cases["other"].deleted
        assert "other" not in stage.store.ledger  # it waits for a worker that can launch it

    play(script)
