"""The SQL reference names every column of the views, and its queries run as the role that reads."""

import asyncio

import pytest

from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.language.manifest import define as define_job
from tests.docs.page import ROOT, blocks, table
from tests.postgres import connect, running

PAGE = ROOT / "docs" / "reference" / "sql.md"


@pytest.fixture(scope="module")
def database():
    """A server of its own: roles belong to a server, and other tests create them too."""
    with running() as server:
        server.sql("CREATE ROLE kron_auditor LOGIN")
        yield server, server.database()


@pytest.mark.parametrize("view", ["schedules", "schedule_runs"])
def test_sql_page_names_the_columns_of_view(view, database):
    server, name = database
    sql = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'kron' AND table_name = %s"
    columns = server.sql(sql + " ORDER BY ordinal_position", name, view)
    assert [row[0] for row in table(PAGE, view)] == [column for (column,) in columns]


def test_sql_page_queries_run_as_auditor(database):
    server, name = database
    (per_session, per_role, *queries) = [block.text for block in blocks(PAGE) if block.language == "sql"]
    asyncio.run(define(server.url(name)))
    counting = "SELECT count(*) FROM kron.schedules"
    assert server.sql(counting, name, user="kron_auditor") == [(0,)]
    with connect(server.url(name, "kron_auditor"), autocommit=True) as session:
        session.execute(per_session)
        assert session.execute(counting).fetchone() == (1,)
    server.sql(per_role)
    assert server.sql(counting, name, user="kron_auditor") == [(1,)]
    assert len(queries) >= 3
    for query in queries:
        server.sql(query, name, user="kron_auditor")


async def define(url):
    async with open_store(url) as store:
        await Registrar(store).upsert(define_job({"identity": "a", "schedule": "* * * * *"}))
