"""Tenants in SQL: to the role of the service, nothing of another tenant is there, whatever the code asks for."""

import asyncio

import psycopg
import pytest

from kron.apps.service.auth.caller import Caller
from kron.stores.postgres.migrate import migrate
from tests.postgres import connect
from tests.service.http import SECRET, serving
from tests.service.test_tenants import DEFINITION, HOOK, ROUTES, body_of, filled
from tests.service.tokens import settings, token

TABLES = (
    "definitions",
    "schedule_state",
    "schedule_revisions",
    "schedule_actions",
    "runs",
    "requests",
    "schedule_gaps",
)
VIEWS = ("schedules", "schedule_runs")


@pytest.fixture(scope="module")
def api(server):
    """A database that was migrated when its roles were there; the URL of the role of the API."""
    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'kron_api'"):
        server.sql("CREATE ROLE kron_api LOGIN")
    name = server.empty()
    asyncio.run(migrate(server.url(name)))
    yield server.url(name, "kron_api")
    server.drop(name)


@pytest.fixture(scope="module")
def house(api, tmp_path_factory):
    """A service whose code has forgotten its tenants: whatever anybody asks for, it takes for acme's."""
    folder = tmp_path_factory.mktemp("house")
    more = {"workflow_store": str(folder / "workflows"), "executor_url": HOOK, "store": api}
    with serving(**settings(folder), **more) as service, pytest.MonkeyPatch.context() as patch:
        acme = service.bearing(token("acme"))
        acme.put("/v1/schedules/own", {**DEFINITION, "description": "canary-acme", "note": "canary-acme"})
        service.key = acme.post("/v1/schedules/own/trigger", Idempotency_Key="canary-acme").json["key"]
        acme.post("/v1/schedules/own/pause", {"note": "canary-acme"})
        patch.setattr(Caller, "identity", lambda caller, name: f"acme/{name}")
        patch.setattr(Caller, "owns", lambda caller, identity: True)
        yield service


@pytest.mark.parametrize(("method", "path", "scope"), [each for each in ROUTES if each[1] != "/metrics"])
def test_a_service_that_forgets_its_tenants_still_shows_and_changes_nothing(house, server, api, method, path, scope):
    before = rows(server, api)
    reply = house.bearing(token("beta")).call(method, filled(path, key=house.key), body_of(method, path))
    assert b"canary" not in reply.body
    assert house.key.encode() not in reply.body
    assert rows(server, api) == before  # and a write under another's name is refused


def rows(server, api):
    """All that acme has, as one who is not held back sees it."""
    name = api.rpartition("/")[2]
    found = [
        server.sql(f"SELECT * FROM {t} WHERE starts_with(schedule_id, 'acme/') ORDER BY 1, 2", name) for t in TABLES
    ]
    assert found[0] and found[4]
    return found


def test_with_the_role_of_the_service_sql_shows_the_tenant_that_was_said_and_else_nothing(house, api):
    with connect(api) as connection:

        def seen(whose, tenant="default"):
            connection.execute("SELECT set_config('app.tenant', %s, true)", (tenant,))
            if whose is not None:
                connection.execute("SELECT set_config('app.tenant_prefix', %s, true)", (whose,))
            found = [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in (*TABLES, *VIEWS)]
            connection.rollback()
            return [count > 0 for count in found]

        some = [True, True, True, True, True, True, False, True, True]  # there are no gaps
        assert seen("acme/") == seen("*") == some
        for whose in ("beta/", "acm", "acme", "/", "%", "", None):
            wanted = (
                [False] * 9 if whose not in ("acm", "acme") else some
            )  # a beginning is a beginning; tenants end in /
            assert seen(whose) == wanted, whose
        assert not any(seen("acme/", tenant=""))
        for table in ("workers", "kinds"):
            connection.execute(
                "SELECT set_config('app.tenant', 'default', true), set_config('app.tenant_prefix', 'x/', true)"
            )
            assert connection.execute(f"SELECT * FROM {table}").fetchall() == []
            connection.rollback()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO requests VALUES ('default', '\\x00', 'acme/own', 1)",
        "INSERT INTO schedule_actions (tenant_id, schedule_id, action, at, actor, note)"
        " VALUES ('default', 'acme/own', 'paused', 1, '', '')",
        "UPDATE schedule_state SET schedule_id = 'acme/own' WHERE schedule_id = 'beta/own'",
    ],
)
def test_a_row_of_another_cannot_be_written(house, api, statement):
    with connect(api) as connection:
        connection.execute(
            "SELECT set_config('app.tenant', 'default', true), set_config('app.tenant_prefix', 'beta/', true)"
        )
        try:
            changed = connection.execute(statement).rowcount
        except psycopg.errors.InsufficientPrivilege as error:
            assert "row-level security" in str(error)
        else:
            assert changed == 0


def test_the_role_of_the_service_owns_nothing_and_is_held_back(server, api):
    name = api.rpartition("/")[2]
    special = "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = 'kron_api'"
    assert server.sql(special) == [(False,) * 4]
    assert server.sql("SELECT 1 FROM pg_class WHERE relowner = 'kron_api'::regrole", name) == []
    for statement in (
        "DELETE FROM runs",
        "TRUNCATE schedule_state",
        "UPDATE schedule_revisions SET note = ''",
        "DROP TABLE schedule_state",
    ):
        with connect(api) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_no_secret_is_in_the_database(house, server, api):
    """Whatever a backup holds, it signs nothing and opens nothing."""
    name = api.rpartition("/")[2]
    tables = [t for (t,) in server.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'kron'", name)]
    rows = "\n".join(str(server.sql(f"SELECT t::text FROM {table} t", name)) for table in tables)
    secrets = house.bearing(token("acme")).get("/v1/webhook-secrets").json["secrets"]
    for word in (SECRET, *secrets, token("acme")):
        for part in (word, word.removeprefix("whsec_"), word[-20:]):
            assert part not in rows
    assert "acme/own" in rows
