"""Every store, held to one suite."""

import asyncio
import shutil

import pytest

from kron.clock import ManualClock
from kron.stores.memory import MemoryStore
from kron.stores.postgres import PostgresStore
from kron.stores.sqlite import SqliteStore
from tests.stores.making import SECONDS, Handle, a_folder


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


@pytest.fixture(params=["memory", "sqlite", "postgres"])
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
