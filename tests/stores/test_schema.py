"""The tables of Kron lie in a schema of their own, next to whatever an application has."""

import asyncio

import pytest

from kron import KronError, Scheduler
from kron.apps.wiring import check_served, open_store
from kron.stores.postgres.connection import address, schema_of
from kron.stores.postgres.maintain import maintain
from kron.stores.postgres.migrate import migrate
from tests.cli.test_postgres import Process, define

THEIRS = ("runs", "workers", "requests", "workflows", "due", "schedules", "schedule_runs", "definitions", "shards")


@pytest.fixture
def occupied(server):
    """The URL of a database in which an application has tables of the same names, and its own search_path."""
    name = server.empty()
    for table in THEIRS:
        server.sql(f"CREATE TABLE public.{table} (mine text); INSERT INTO public.{table} VALUES ('precious')", name)
    server.sql(f"ALTER DATABASE {name} SET search_path = public")
    yield server.url(name)
    server.drop(name)


def held(server, url):
    """All relations and functions by their schemas, but those of PostgreSQL."""
    query = """SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname !~ '^(pg_|information_schema)' AND c.relkind IN ('r', 'p', 'v')
        UNION SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname !~ '^(pg_|information_schema)'"""
    found = {}
    for schema, name in server.sql(query, url.rpartition("/")[2]):
        found.setdefault(schema, set()).add(name)
    return found


def test_schema_is_kron_and_public_is_left_alone(server, occupied):
    assert asyncio.run(migrate(occupied))
    assert asyncio.run(maintain(occupied)).made
    assert asyncio.run(migrate(occupied)) == []
    asyncio.run(check_served(occupied))
    define(occupied)
    worker = Process(occupied)
    assert worker.until("launch_completed")["identity"] == "a"
    assert worker.stop()[0] == 0
    there = held(server, occupied)
    assert there.keys() == {"public", "kron"}
    assert there["public"] == set(THEIRS)
    assert {"schedule_state", "runs", "kron_now", "schedules", "kron_migrations"} <= there["kron"]
    for table in THEIRS:
        assert server.sql(f"SELECT * FROM public.{table}", occupied.rpartition("/")[2]) == [("precious",)]


def test_schema_of_the_url_is_used_and_two_live_side_by_side(server, occupied):
    async def script():
        seen = []
        for url in (occupied, f"{occupied}?schema=kron_two", f"{occupied}?connect_timeout=3&schema=kron_two"):
            await migrate(url)
            async with open_store(url) as store:
                seen.append(await store.identities("", 10))
                if url == occupied:
                    async with Scheduler(url) as scheduler:
                        scheduler.add(print, "0 0 1 1 *", dialect="posix", name="only here")
                        await scheduler.next("only here")
        return seen

    assert asyncio.run(script()) == [[], [], []]
    assert {"kron", "kron_two"} <= held(server, occupied).keys()
    assert server.sql("SELECT count(*) FROM kron_two.schedule_state", occupied.rpartition("/")[2]) == [(0,)]
    assert server.sql("SELECT count(*) FROM kron.schedule_state", occupied.rpartition("/")[2]) == [(1,)]


def test_transaction_of_a_run_finds_the_tables_of_the_application(server, occupied):
    """In the function and in its triggers that wait for the commit, names are the application's."""
    asyncio.run(migrate(occupied))
    deferred = """CREATE TABLE public.seen (path text);
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO seen VALUES (current_setting('search_path')); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER late AFTER INSERT ON public.runs DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.note()"""
    server.sql(deferred, occupied.rpartition("/")[2])

    async def script():
        done, scheduler = asyncio.Event(), Scheduler(occupied)

        async def job(connection):
            await connection.execute("INSERT INTO runs VALUES ('more')")
            done.set()

        scheduler.add(job, "* * * * * *", dialect="service", transaction=True, name="job")
        async with scheduler:
            await asyncio.wait_for(done.wait(), 10)

    asyncio.run(script())
    assert ("more",) in server.sql("SELECT * FROM public.runs", occupied.rpartition("/")[2])
    assert set(server.sql("SELECT * FROM public.seen", occupied.rpartition("/")[2])) == {("public",)}


@pytest.mark.parametrize("name", ["", "Kron", "a b", "pg_kron", "1st", "x" * 64, "a;drop", '"kron"'])
def test_schema_name_that_is_no_plain_identifier_is_refused(name):
    with pytest.raises(KronError) as caught:
        schema_of(f"postgresql://db/kron?schema={name}")
    assert caught.value.code == "BAD_SCHEMA"


def test_schema_is_taken_out_of_the_url():
    assert schema_of("postgresql://db/kron") == schema_of("host=db") == "kron"
    assert schema_of("postgresql://a,b/kron?schema=x&sslmode=require") == "x"
    assert "sslmode=require" in address("postgresql://a,b/kron?schema=x&sslmode=require")
    assert "schema" not in address("postgresql://a,b/kron?schema=x")
