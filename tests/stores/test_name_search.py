"""Names that contain a text: the same in every store, bounded, and in PostgreSQL by trigrams."""

import asyncio

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.engine import name_search
from kron.engine.clock import ManualClock
from kron.engine.name_search import FoundNames, search_names
from kron.engine.tenant_scope import set_tenant_scope
from kron.rules.update import ScheduleUpdate
from kron.stores.memory import MemoryStore
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.migrate import migrate
from kron.stores.postgres.name_index import name_pattern
from kron.stores.postgres.statements import QUERIES
from tests.stores.making import NOW, SECONDS, a_case, define, now, write

SCANNED = 10


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """So few names are scanned that tests go beyond them."""
    monkeypatch.setattr(name_search, "MAX_SCANNED", SCANNED)


@pytest.fixture
def database(server, database):
    """The database of each test, with the index."""
    server.index_names(database)
    return database


@pytest.fixture
def plain(server, database, sql):
    """The same store for a role that row-level security restricts."""
    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'plain'"):
        server.sql("CREATE ROLE plain LOGIN")
    sql("GRANT USAGE ON SCHEMA kron TO plain; GRANT ALL ON ALL TABLES IN SCHEMA kron TO plain")
    return PostgresStore(database.replace("postgres@", "plain@"))


def found(store, scope, text, after="", limit=5):
    return store.runner.run(search_names(store.store, scope, text, after, limit))


def containing(store, scope, text, after="", limit=5):
    return store.runner.run(store.store.overview.names.containing(scope, text, after, limit))


def fill(store, names):
    assert all(store.commit([ScheduleUpdate(None, a_case(name), ()) for name in names], NOW))


def test_first_names_are_searched_in_their_order_in_every_store(store):
    fill(store, ["t/report.day", "t/weekly report", "u/report", "report", "t/Report", "t/tt"])
    write(store, now(store, "t/weekly report"), deleted=True, next_check_at=None)
    assert found(store, "t/", "report") == FoundNames(["t/report.day"])
    assert found(store, "t/", "t/") == FoundNames([]), "the scope is not part of the name"
    assert found(store, "", "report", limit=2) == FoundNames(["report", "t/report.day"])
    assert found(store, "", "report", after="t/report.day") == FoundNames(["u/report"])


def test_search_says_how_far_it_came_without_an_index(sqlite):
    names = sorted(f"a{n:03}" for n in range(25))
    fill(sqlite, [*names, "z-report"])
    assert found(sqlite, "", "report") == FoundNames([], names[SCANNED - 1])
    assert found(sqlite, "", "a00", limit=4) == FoundNames(names[:4])
    assert found(sqlite, "", "report", after=names[SCANNED - 1]) == FoundNames([], names[2 * SCANNED - 1])
    assert found(sqlite, "", "report", after=names[2 * SCANNED - 1]) == FoundNames(["z-report"])


LETTERS = st.text("ab/%_\\.", max_size=6)


@settings(max_examples=60)
@given(st.sets(LETTERS.filter(bool), max_size=40), st.sampled_from(["", "a/", "b/"]), LETTERS.filter(bool), LETTERS)
def test_pages_of_a_search_have_every_name_that_contains_the_text(names, scope, text, after):
    store = MemoryStore(ManualClock(float(SECONDS)))

    async def all_pages():
        assert all(await store.commit([ScheduleUpdate(None, a_case(name), ()) for name in sorted(names)], NOW))
        pages, last = [], after
        for _ in range(60):
            page = await search_names(store, scope, text, last, 3)
            pages += page.identities
            if not page.searched_upto and len(page.identities) < 3:
                return pages
            last = page.identities[-1] if len(page.identities) == 3 else page.searched_upto
        raise AssertionError("the search does not end")

    expected = [n for n in sorted(names) if n.startswith(scope) and n > after and text in n[len(scope) :]]
    assert asyncio.run(all_pages()) == expected


class TestTrigrams:
    """PostgreSQL with pg_trgm."""

    def test_rare_text_is_found_beyond_the_first_names(self, postgres):
        fill(postgres, [f"t/a{n:03}" for n in range(40)] + ["t/z.report_100%", "t/z.reports", "u/report"])
        assert found(postgres, "t/", "report") == FoundNames(["t/z.report_100%", "t/z.reports"])
        assert found(postgres, "t/", "report_100%") == FoundNames(["t/z.report_100%"])
        assert found(postgres, "t/", "report", after="t/z.report_100%") == FoundNames(["t/z.reports"])
        assert found(postgres, "", "report", limit=1) == FoundNames(["t/z.report_100%"])
        assert found(postgres, "", "a00", limit=12).identities[-1] == "t/a009"

    def test_deleted_and_removed_schedules_are_not_found(self, postgres, sql):
        fill(postgres, ["a.report", "b.report"])
        write(postgres, now(postgres, "a.report"), deleted=True, next_check_at=None)
        assert containing(postgres, "", "report") == ["b.report"]
        sql("ALTER TABLE kron.schedule_state DISABLE TRIGGER USER; DELETE FROM kron.schedule_state")
        sql("ALTER TABLE kron.schedule_revisions DISABLE TRIGGER USER; DELETE FROM kron.schedule_revisions")
        sql("DELETE FROM kron.definitions")
        assert sql("SELECT * FROM kron.schedule_names") == []

    def test_short_text_is_left_to_the_first_names(self, postgres):
        fill(postgres, [f"a{n:03}" for n in range(40)])
        assert containing(postgres, "", "a0") is None
        assert containing(postgres, "", "--a0/0-") is None
        assert found(postgres, "", "39") == FoundNames([], f"a{SCANNED - 1:03}")

    def test_search_for_too_much_ends_early_and_says_so(self, postgres, monkeypatch):
        fill(postgres, [f"a{n:03}" for n in range(40)])
        slow = QUERIES["names_containing"].replace(b"SELECT n.schedule_id", b"SELECT n.schedule_id, pg_sleep(1)")
        monkeypatch.setitem(QUERIES, "names_containing", slow)
        assert containing(postgres, "", "a03") is None

    def test_tenants_find_their_own_names_only(self, postgres, plain, runner):
        fill(postgres, ["t/report", "u/report"])

        async def as_tenant(scope, store):
            set_tenant_scope("t/")
            return await store.overview.names.containing(scope, "report", "", 9)

        async def separately(scope, store):
            return await asyncio.create_task(as_tenant(scope, store))

        assert runner.run(separately("t/", plain)) == runner.run(separately("", plain)) == ["t/report"]
        assert runner.run(separately("u/", plain)) == []
        runner.run(plain.close())

    def test_stores_of_two_tenants_of_one_database_are_apart(self, database, plain, runner):
        one, two = (PostgresStore(database.replace("postgres@", "plain@"), tenant=name) for name in ("one", "two"))
        for store, name in ((one, "a.report"), (two, "b.report")):
            runner.run(store.commit([ScheduleUpdate(None, a_case(name), ())], NOW))
        for store, name in ((one, "a.report"), (two, "b.report")):
            assert runner.run(store.overview.names.containing("", "report", "", 9)) == [name]
        with psycopg.connect(plain.pool.conninfo) as connection:
            assert connection.execute("SELECT * FROM kron.schedule_names").fetchall() == [], "without a tenant"
        for store in (one, two, plain):
            runner.run(store.close())

    @pytest.mark.parametrize("known", [False, True], ids=["a table that has just grown", "a table that is known"])
    def test_no_search_reads_the_whole_table(self, postgres, plain, sql, known):
        fill(postgres, [f"{scope}/{n:03}.job" for scope in ("t", "u") for n in range(400)])
        if known:
            sql("ANALYZE")

        async def explained(talk):
            pattern = name_pattern("t/", "007")
            await talk.execute("limit_to_pattern", pattern=pattern)
            values = {"tenant": "default", "scope": "t/", "after": "", "limit": 25, "pattern": pattern}
            rows = await talk.connection.execute(b"EXPLAIN " + QUERIES["names_containing"], values)
            return "\n".join(line for (line,) in await rows.fetchall())

        async def as_tenant():
            set_tenant_scope("t/")
            return await plain.pool.read(explained)

        async def separately():
            return await asyncio.create_task(as_tenant())

        for plan in (postgres.runner.run(postgres.store.pool.read(explained)), postgres.runner.run(separately())):
            assert "Seq Scan" not in plan, plan
            assert "Bitmap Index Scan on schedule_names_trigrams" in plan, plan
        postgres.runner.run(plain.close())


def test_migration_adds_the_index_when_the_extension_comes_later(server, runner):
    """A role that may not create the extension migrates, then an administrator creates it."""
    name = server.empty()
    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'owner_of_kron'"):
        server.sql("CREATE ROLE owner_of_kron LOGIN")
    server.sql("CREATE SCHEMA kron AUTHORIZATION owner_of_kron", name)
    url = server.url(name, "owner_of_kron")
    runner.run(migrate(url))
    assert server.sql("SELECT to_regclass('kron.schedule_names')", name) == [(None,)]
    store = PostgresStore(url, tenant="one")
    runner.run(store.commit([ScheduleUpdate(None, a_case("x.report"), ())], NOW))
    assert runner.run(store.overview.names.containing("", "report", "", 9)) is None
    server.sql("CREATE EXTENSION pg_trgm", name)
    runner.run(migrate(url))
    runner.run(store.commit([ScheduleUpdate(None, a_case("y.report"), ())], NOW))
    assert runner.run(store.overview.names.containing("", "report", "", 9)) == ["x.report", "y.report"]
    forced = "SELECT bool_and(relforcerowsecurity) FROM pg_class WHERE relname IN ('definitions', 'schedule_names')"
    assert server.sql(forced, name) == [(True,)]
    runner.run(store.close())
    server.drop(name)


def test_define_makes_a_name_that_is_found(store):
    define(store, a_case("daily.report"))
    assert found(store, "", "report") == FoundNames(["daily.report"])
