"""Each documented command works with its documented role, on a PostgreSQL whose roles are those of the how-to page."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_postgres import Process, asked
from tests.postgres import running

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "postgresql.md"
ROLES = ("kron_owner", "kron_api", "kron_worker", "kron_auditor")


@pytest.fixture(scope="module")
def cluster():
    """A server with the roles that the page creates."""
    with running() as server:
        for statement in re.findall(r"^(CREATE ROLE .*;)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
            server.sql(statement)
        assert {name for (name,) in server.sql("SELECT rolname FROM pg_roles")} >= set(ROLES)
        yield server


@pytest.fixture
def at(cluster):
    """Turns a role into a URL for a new database that belongs to the owner."""
    name = cluster.empty()
    cluster.sql(f"ALTER DATABASE {name} OWNER TO kron_owner")
    yield lambda role: cluster.url(name, role)
    cluster.drop(name)


def levels(result):
    return {one["check"]: one["level"] for one in json.loads(result.out)}


def test_documented_commands_work_with_their_roles(kron, at, tmp_path):
    lines = tmp_path / "schedules.ndjson"
    lines.write_text('{"identity": "a", "schedule": "* * * * *", "target": "python:pass"}\n' * 2, encoding="utf-8")
    made = kron("migrate", "--store", at("kron_owner"))
    assert made.status == 0, made.err
    for again in (1, 2):  # what is there already stays as it is
        loaded = kron("load", str(lines), "--store", at("kron_api"))
        assert loaded.status == 0, (again, loaded.err)
    worker = Process(at("kron_worker"))
    worker.until("worker_started")
    assert worker.stop()[0] == 0
    for role in ("kron_worker", "kron_api", "kron_owner"):
        found = levels(kron("doctor", "--store", at(role), "--output", "json"))
        assert (found["schema"], found["rights"], found["partitions"]) == ("ok", "ok", "ok"), role
        assert "role" not in found
    for role in ("kron_auditor", "kron_worker", "kron_api", "kron_owner"):
        audited = kron("audit", "--store", at(role))
        assert audited.status == 0, (role, audited.err)
        assert re.search(r"\b1 schedule", audited.err), (role, audited.err)
        assert kron("why", "a", "--store", at(role)).status == 0, role
    for role in ("kron_owner", "kron_worker"):
        done = kron("maintain", "--store", at(role), "--retention-days", "90")
        assert done.status == 0, (role, done.err)


def test_workers_role_maintains_the_ledger_and_cannot_delete_from_it(kron, cluster, at):
    assert kron("migrate", "--store", at("kron_owner")).status == 0
    name = at("x").rpartition("/")[2]
    cluster.sql("DROP TABLE runs_" + cluster.sql("SELECT max(name) FROM kron_partitions", name)[0][0][5:], name)
    done = asked(at("kron_worker"), lambda store: maintain(store))
    assert len(done.made) == 1
    for statement in ("DELETE FROM kron.runs", "DELETE FROM kron.requests", "SELECT kron.kron_make_partition(345600)"):
        with pytest.raises(Exception, match="permission denied"):
            cluster.sql(statement, name, user="kron_worker")


async def maintain(store):
    return await store.maintain(await store.now(), 90 * 86_400_000)


def test_role_created_after_migrate_gets_its_rights_from_the_next(kron, cluster, at):
    cluster.sql("DROP OWNED BY kron_auditor; DROP ROLE kron_auditor")
    assert kron("migrate", "--store", at("kron_owner")).status == 0
    cluster.sql("CREATE ROLE kron_auditor LOGIN")
    found = kron("doctor", "--store", at("kron_worker"), "--output", "json")
    assert levels(found)["rights"] == "error"
    assert "kron_auditor" in found.out
    assert kron("audit", "--store", at("kron_auditor")).status == 2
    assert kron("migrate", "--store", at("kron_owner")).err == "nothing to migrate\n"
    assert levels(kron("doctor", "--store", at("kron_worker"), "--output", "json"))["rights"] == "ok"
    assert kron("audit", "--store", at("kron_auditor")).status == 0
