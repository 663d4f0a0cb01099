"""Every store, held to one suite."""

import asyncio
import shutil

import pytest

from kron.engine.clock import ManualClock
from kron.stores.memory import MemoryStore
from kron.stores.postgres import PostgresStore
from kron.stores.sqlite import SqliteStore
from tests.pooler import PROGRAM, pooling
from tests.postgres import connect
from tests.stores.making import SECONDS, Handle, a_folder

HERE = pytest.mark.skipif(PROGRAM is None, reason="needs pgbouncer")
POOLED = pytest.param("pooled", marks=[pytest.mark.campaign, HERE])


@pytest.fixture
def folder():
    made = a_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def clock():
    return ManualClock(float(SECONDS))


@pytest.fixture
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(params=["memory", "sqlite", "postgres", POOLED])
def store(request, runner, clock):
    if request.param == "memory":
        return Handle(runner, MemoryStore(clock))
    return request.getfixturevalue(request.param)


@pytest.fixture
def sqlite(runner, clock, folder):
    """The store in a file alone, for what the others do not have."""
    handle = Handle(runner, SqliteStore(folder / "kron.db", clock))
    yield handle
    handle.close()


@pytest.fixture
def postgres(runner, clock, database):
    """The store in PostgreSQL alone."""
    handle = Handle(runner, PostgresStore(database, clock))
    yield handle
    handle.close()


@pytest.fixture(scope="session")
def pooler(server):
    """Turns the URL of a database into that of the same behind a pooler in transaction mode."""
    with pooling(server) as port:
        yield lambda url: url.replace(f":{server.port}/", f":{port}/")


@pytest.fixture
def pooled(runner, clock, database, pooler):
    """The store in PostgreSQL, where every transaction may have another server process."""
    handle = Handle(runner, PostgresStore(pooler(database), clock))
    yield handle
    handle.close()


@pytest.fixture
def sql(database):
    """Runs a statement in the database of the test, as a superuser."""

    def run(text, *values):
        with connect(database, autocommit=True) as connection:
            found = connection.execute(text, values or None)
            return found.fetchall() if found.description else []

    return run
