"""What a write is compared with: each part of it, one by one, in every store that has it."""

import asyncio

import pytest

from kron import KronError
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.arrays import texts
from kron.timing.schedule.policy import Overlap, Policy
from tests.stores.making import NOW, SECONDS, Handle, a_case, a_run, define, now, write


def further(case, minute=1, state=State.SKIPPED):
    """A settlement that adds a period of the calendar, as nearly all do."""
    return ScheduleUpdate(case, case._replace(cursor=SECONDS + minute * 60), (a_run(state, minute),))


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize(
    "change", [{"deleted": True}, {"paused": True}, {"effective_from": NOW + 1}, {"cursor": SECONDS + 30}]
)
def test_settlement_of_what_was_changed_meanwhile_is_refused(store, change, ready):
    read = define(store)
    plain = [further(read)]
    prepared = store.store.prepare(plain) if ready else plain
    assert write(store, read, **change)
    assert store.commit(prepared, NOW) == [False]
    assert store.runs("a", 10) == []


@pytest.mark.parametrize(
    "change",
    [{"state": State.RETRY}, {"attempt": 2}, {"owner": "w2"}],
    ids=lambda change: next(iter(change)),
)
def test_settlement_that_has_seen_another_token_of_an_open_run_is_refused(store, change):
    """Of an open run, its state, its attempt and its owner count, each by itself."""
    read = define(store, a_case(overlap=Overlap.ALLOW), a_run(State.LAUNCHING, 1, owner="w1"))
    (run,) = read.open_runs
    assert write(store, read, changed=[(run, run._replace(**change))])
    assert store.commit([further(read, 2)], NOW) == [False]
    assert store.commit([further(now(store), 2)], NOW) == [True]


def test_settlement_that_has_not_seen_a_report_is_refused(store):
    """A report changes only the state: what was planned without it must not hold."""
    read = define(store, a_case(overlap=Overlap.ALLOW), a_run(State.ENQUEUED, 1))
    (run,) = read.open_runs
    assert store.update_runs([RunUpdate(run, run._replace(state=State.STARTED), None)], NOW) == [True]
    assert store.commit([further(read, 2)], NOW) == [False]


def test_period_handled_ahead_of_the_cursor_stays_handled(store):
    """Windows overlap: a later period comes first, and whoever reads the schedule is told so."""
    define(store)
    for minute in (5, 3):
        before = now(store)
        assert store.commit([ScheduleUpdate(before, before, (a_run(State.SKIPPED, minute),))], NOW) == [True]
    assert now(store).handled_ahead == {SECONDS + 180, SECONDS + 300}
    assert write(store, now(store), cursor=SECONDS + 240)
    assert now(store).handled_ahead == {SECONDS + 300}


def test_change_that_would_give_another_outcome_is_refused(store):
    """Somebody has read the run without its outcome. The outcome that is recorded stays."""
    run = a_run(State.STARTED)
    define(store, None, run)
    blind = run._replace(outcome=None)
    wrong = blind._replace(state=State.FAILED, outcome=Outcome.MISSED)
    assert store.update_runs([RunUpdate(blind, wrong, None)], NOW) == [False]
    assert store.runs_by_key([run.key]) == [run]


def test_read_shows_one_state_though_another_writes_meanwhile(postgres, runner, database, clock):
    """A case is put together from several tables; between two of them somebody records the end of its run."""
    read = define(postgres, a_case(overlap=Overlap.ALLOW), a_run(State.STARTED))
    (run,) = read.open_runs
    other = PostgresStore(database, clock)
    learn = postgres.store.jobs.learn

    async def meanwhile(talk, rows):
        assert await other.update_runs([RunUpdate(run, run._replace(state=State.SUCCESS), NOW)], NOW) == [True]
        await learn(talk, rows)

    postgres.store.jobs.learn = meanwhile
    assert postgres.get(["a"]) == [read]
    postgres.store.jobs.learn = learn
    assert now(postgres).open_runs == ()
    runner.run(other.close())


@pytest.mark.parametrize("change", ["owner = 'w2'", "attempt = attempt + 1"])
def test_transaction_of_an_attempt_that_is_another_worker_s_is_refused(postgres, sql, change):
    """Its number alone does not tell: after a restore from a backup two workers may have the same."""
    run = a_run(State.STARTED)
    define(postgres, None, run)

    async def script():
        async with postgres.store.transaction(run, Policy()) as connection:
            await connection.execute("CREATE TABLE public.effect (x int)")
            sql(f"UPDATE runs SET {change}")

    with pytest.raises(KronError) as caught:
        postgres.runner.run(script())
    assert caught.value.code == "FENCED"
    assert sql("SELECT to_regclass('public.effect')") == [(None,)]
    assert sql("SELECT status FROM runs") == [("started",)]


LIMITS = {"statement_timeout": "4s", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "5s"}


@pytest.mark.parametrize("kind", ["read", "write"])
def test_every_transaction_has_its_limits(postgres, kind):
    async def look(talk):
        rows = [await talk.connection.execute(f"SHOW {name}") for name in LIMITS]
        return [(await row.fetchone())[0] for row in rows]

    pool = postgres.store.pool
    assert postgres.runner.run((pool.read if kind == "read" else pool.write)(look)) == list(LIMITS.values())


@pytest.mark.slow
def test_worker_that_hangs_in_a_transaction_blocks_others_for_seconds_only(postgres, runner, database, clock):
    """Its host sleeps; it holds a row; the server ends its session, and the others go on."""
    read = define(postgres)
    asleep = Handle(runner, PostgresStore(database, clock, deadline=60))

    async def script():
        locked, morning = asyncio.Event(), asyncio.Event()

        async def hang(talk):
            await talk.rows("lock", schedules=texts(["a"]))
            locked.set()
            await morning.wait()

        hanging = asyncio.ensure_future(asleep.store.pool.write(hang))
        await asyncio.wait_for(locked.wait(), 10)
        for _ in range(20):
            try:
                held = await postgres.store.commit([further(read)], NOW)
                break
            except KronError:
                await asyncio.sleep(0.2)
        morning.set()
        await asyncio.wait({hanging})
        return held, hanging.exception()

    held, failed = runner.run(script())
    assert held == [True]
    assert isinstance(failed, KronError)  # what it would have written is gone with its session
    asleep.close()
