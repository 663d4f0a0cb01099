"""Workers, and what owners do, behind a pooler in transaction mode.

The suite of all stores is run on it too: `pytest tests/stores -k pooled -m campaign`.
"""

import asyncio

import psycopg
import pytest

from kron.stores.postgres.maintain import maintain
from kron.stores.postgres.migrate import migrate, migrations
from tests.cli.test_postgres import Process, asked, define
from tests.pooler import PROGRAM
from tests.stores.test_together import check, hammered

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="needs pgbouncer")]


def session(url):
    """The settings of each server process that the pooler has: what one left behind, the next would find."""
    left = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT LIKE 'client%%'"
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        return connection.execute(left).fetchall()


def test_two_workers_share_what_is_due_and_leave_nothing_in_the_sessions(database, pooler):
    url = pooler(database)
    names = [f"s{n}" for n in range(20)]  # so many that each worker has some: their shards follow from random owners
    for name in names:
        define(url, name)
    workers = [Process(url), Process(url)]
    try:
        for worker in workers:
            worker.until("worker_started")
        for worker in workers * 2:
            worker.until("launch_completed")
    finally:
        stopped = [worker.stop()[0] for worker in workers]
    assert stopped == [0, 0]
    runs = [run for name in names for run in asked(url, lambda store, name=name: store.runs(name, 100))]
    assert len(runs) == len({run.key for run in runs}) > 3
    assert "application_name" in dict(session(url))  # so that there is something to see
    assert {name for name, _ in session(url)} <= {"application_name", "DateStyle", "TimeZone", "extra_float_digits"}


def test_many_processes_at_once(folder, database, pooler, postgres):
    check(postgres, hammered(pooler(database), folder, processes=2))


def test_tables_are_made_and_looked_after(server, pooler):
    name = server.empty()
    url = pooler(server.url(name))
    assert len(asyncio.run(migrate(url))) == len(migrations())
    assert len(asyncio.run(maintain(url)).made) == 5
    assert not [each for each in session(url) if each[0] == "lock_timeout"]
    server.drop(name)
