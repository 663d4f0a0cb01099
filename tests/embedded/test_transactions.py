"""What a function writes is committed with the success of its run, or not at all; on a real PostgreSQL."""

import asyncio
import logging

import psycopg
import pytest

from kron import KronError, Scheduler
from kron.apps.embedded import declared
from kron.apps.embedded.options import JobOptions
from kron.rules.outcome import Outcome
from kron.rules.run import claimed
from kron.rules.run_state import State
from kron.stores.postgres import transaction
from kron.timing.schedule.policy import WorkerLossPolicy
from tests.embedded import transaction_kills
from tests.postgres import connect


@pytest.fixture
def written(database):
    """The rows that are there, when asked."""
    with connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE written (word text NOT NULL)")
        yield lambda: [word for (word,) in connection.execute("SELECT word FROM written ORDER BY word")]


def job_of(scheduler, body=None, **options):
    async def job(connection, word):
        await connection.execute("INSERT INTO written VALUES (%s)", [word])
        if body:
            await body(connection)

    scheduler.add(job, "daily", name="job", args=("a",), transaction=True, **options)


async def run_once(scheduler):
    """The run of a trigger, at its end."""
    async with scheduler:
        key = await scheduler.trigger("job")
        async with asyncio.timeout(20):
            while True:
                (run,) = await scheduler._inside.registrar.store.runs_by_key([key])
                if not run.open:
                    return run
                await asyncio.sleep(0.02)


def played(database, body=None, **options):
    scheduler = Scheduler(database)
    job_of(scheduler, body, **options)
    return asyncio.run(run_once(scheduler))


def test_a_success_and_what_was_written_are_committed_together(database, written):
    run = played(database)
    assert (run.state, run.outcome, written()) == (State.SUCCESS, Outcome.EXECUTED, ["a"])
    with connect(database) as connection:
        ((same,),) = connection.execute(
            "SELECT (SELECT xmin::text FROM runs) = (SELECT xmin::text FROM written)"
        ).fetchall()
    assert same


def test_what_fails_leaves_nothing(database, written, caplog):
    async def fail(connection):
        raise ValueError("it failed")

    assert (played(database, fail).state, written()) == (State.FAILED, [])
    assert "job 'job' failed" in caplog.text


def test_success_in_a_transaction_ends_the_failures_in_a_row(database, written):
    async def fail(connection):
        raise ValueError("it failed")

    def counted():
        with connect(database) as connection:
            return connection.execute("SELECT failure_count FROM schedule_state").fetchone()

    assert (played(database, fail, pause_on_failure=2).state, counted()) == (State.FAILED, (1,))
    assert (played(database, pause_on_failure=2).state, counted()) == (State.SUCCESS, (0,))


async def commit(connection):
    await connection.commit()


async def commit_by_hand(connection):
    await connection.execute("COMMIT")


@pytest.mark.parametrize(
    ("body", "why", "left"), [(commit, "commit() forbidden", []), (commit_by_hand, "TRANSACTION_ENDED", ["a"])]
)
def test_who_commits_by_himself_is_told(database, written, caplog, body, why, left):
    assert (played(database, body).state, written()) == (State.FAILED, left)
    assert why in caplog.text


def test_a_part_may_fail_alone(database, written):
    async def try_another(connection):
        try:
            async with connection.transaction():
                await connection.execute("INSERT INTO written VALUES ('b')")
                await connection.execute("INSERT INTO written VALUES (NULL)")
        except psycopg.errors.NotNullViolation:
            await connection.execute("INSERT INTO written VALUES ('c')")

    assert (played(database, try_another).state, written()) == (State.SUCCESS, ["a", "c"])


def test_an_attempt_that_has_lost_its_run_leaves_nothing_and_says_nothing(database, written, caplog):
    caplog.set_level(logging.WARNING)
    scheduler = Scheduler(database)

    async def lose(connection):
        """Another worker takes the run over, as it would when this process had stood still for too long."""
        store = scheduler._inside.registrar.store
        (run,) = await store.runs("job", 1)
        while run.state is not State.STARTED:
            (run,) = await store.runs("job", 1)
        again = run._replace(state=State.RETRY, lease=None)
        with connect(database, autocommit=True) as other:  # beside the protocol: only the fence is in question
            taken = claimed(again, "another", run.lease, run.changed)
            other.execute(
                "UPDATE runs SET status = %s, attempt = %s, owner = %s", (taken.state, taken.attempt, taken.owner)
            )

    job_of(scheduler, lose)

    async def script():
        async with scheduler:
            key = await scheduler.trigger("job")
            while "has lost its run" not in caplog.text:
                await asyncio.sleep(0.02)
            return await scheduler._inside.registrar.store.runs_by_key([key])

    (run,) = asyncio.run(asyncio.wait_for(script(), 20))
    assert (run.state, run.attempt, run.owner) == (State.LAUNCHING, 2, "another")
    assert written() == []


def test_a_commit_whose_answer_is_lost_has_happened(database, written, monkeypatch, caplog):
    """The process takes it for a failure; but the run is asked, and knows better."""
    real = transaction.fail_point

    def lost(point):
        real(point)
        if point == "K3":
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(transaction, "fail_point", lost)
    assert (played(database).state, written()) == (State.SUCCESS, ["a"])
    assert "the connection is lost" in caplog.text


def test_they_wait_for_one_another_where_there_are_many(database, written, monkeypatch):
    monkeypatch.setattr(transaction, "MAX_TRANSACTIONS", 2)
    going, most = 0, 0

    async def together(connection):
        nonlocal going, most
        going += 1
        most = max(most, going)
        await asyncio.sleep(0.02)
        going -= 1

    async def script():
        scheduler = Scheduler(database)
        job_of(scheduler, together, overlap="allow")
        async with scheduler:
            for _ in range(6):
                await scheduler.trigger("job")
            while len(written()) < 6:
                await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(script(), 20))
    assert most == 2


def test_only_where_it_can_be_kept():
    async def job(connection): ...

    with pytest.raises(KronError, match="NO_TRANSACTION"):
        Scheduler("sqlite:jobs.db").add(job, "daily", transaction=True)
    with pytest.raises(KronError, match="NOT_ASYNC"):
        Scheduler("postgresql://db").add(print, "daily", transaction=True)


@pytest.mark.parametrize(
    ("options", "interrupted"),
    [({}, "restart"), ({"restart_lost": True}, "restart"), ({"restart_lost": False}, "lost")],
)
def test_what_dies_in_its_transaction_may_run_again(options, interrupted):
    async def job(connection): ...

    found = declared.declare(job, "daily", JobOptions(transaction=True, **options), None, (), {})
    assert found.job.schedule.policy.on_worker_loss is WorkerLossPolicy(interrupted)


@pytest.mark.slow
def test_twenty_kills_between_writes_and_commits(capsys):
    assert transaction_kills.main(20) == 0, capsys.readouterr().out
