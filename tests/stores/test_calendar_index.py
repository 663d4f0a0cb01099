"""Calendar facts: the same in every store, by key, and a tenant reads its own only."""

import asyncio

import pytest

from kron.engine.tenant_scope import set_tenant_scope
from kron.rules.calendar_facts import CalendarFacts, RareDay, RareRun, ZoneHours
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.statements import QUERIES
from tests.stores.making import NOW


def facts_of(name, written=NOW):
    hours = ZoneHours("Europe/Paris", 3, tuple(range(24)))
    return CalendarFacts((hours,), (RareDay(20_000, 4, (RareRun(NOW, f'{name}\u00e9"'),)),), written)


def run(store, question):
    return store.runner.run(question)


def test_facts_are_written_read_and_removed(store):
    calendar = store.store.overview.calendar
    assert run(store, calendar.read("t/")) is None
    for scope in ("", "t/", "u/"):
        run(store, calendar.write(scope, facts_of(scope)))
    run(store, calendar.write("t/", facts_of("new", NOW + 1)))
    assert run(store, calendar.read("t/")) == facts_of("new", NOW + 1)
    assert run(store, calendar.read("")) == facts_of("")
    assert run(store, calendar.remove(NOW + 1, 1)) == 1
    assert run(store, calendar.remove(NOW + 1, 9)) == 1
    assert [run(store, calendar.read(scope)) is None for scope in ("", "t/", "u/")] == [True, False, True]
    run(store, calendar.write("", CalendarFacts((), (), NOW)))
    assert run(store, calendar.read("")) == CalendarFacts((), (), NOW)


@pytest.fixture
def plain(server, database, sql):
    """The same store for a role that row-level security restricts."""
    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'plain'"):
        server.sql("CREATE ROLE plain LOGIN")
    sql("GRANT USAGE ON SCHEMA kron TO plain; GRANT ALL ON ALL TABLES IN SCHEMA kron TO plain")
    return PostgresStore(database.replace("postgres@", "plain@"))


def test_tenant_reads_the_facts_of_its_own_schedules_only(postgres, plain, runner):
    for scope in ("", "t/", "u/"):
        run(postgres, postgres.store.overview.calendar.write(scope, facts_of(scope)))

    async def as_tenant(scope):
        set_tenant_scope("t/")
        return await plain.overview.calendar.read(scope)

    async def separately(scope):
        return await asyncio.create_task(as_tenant(scope))

    assert [runner.run(separately(scope)) is None for scope in ("", "t/", "u/")] == [True, False, True]
    runner.run(plain.close())


def test_facts_are_read_and_removed_by_an_index(postgres, plain, runner):
    async def explained(talk):
        values = {"tenant": "default", "scope": "t/", "before": NOW, "limit": 9}
        rows = [
            await (await talk.connection.execute(b"EXPLAIN " + QUERIES[name], values)).fetchall()
            for name in ("calendar_facts", "remove_calendar_facts")
        ]
        return "\n".join(line for found in rows for (line,) in found)

    for pool in (postgres.store.pool, plain.pool):
        plan = runner.run(pool.read(explained))
        assert "Seq Scan" not in plan, plan
        assert "calendar_facts_pkey" in plan and "calendar_facts_written" in plan, plan
    runner.run(plain.close())
