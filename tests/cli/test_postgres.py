"""`kron migrate`, `maintain`, `worker` and `doctor` on a real PostgreSQL."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kron import parse
from kron.apps.plural import plural
from kron.engine.registrar import Registrar
from kron.stores.postgres import PostgresStore
from kron.stores.postgres.migrate import migrations
from kron.timing.job import Job
from kron.timing.tzdata import host_version
from tests.postgres import connect

BIN = Path(sys.executable).parent


@pytest.fixture
def empty(server):
    name = server.empty()
    yield server.url(name)
    server.drop(name)


def asked(url, question):
    """What a question to the store gives."""

    async def ask():
        store = PostgresStore(url)
        try:
            return await question(store)
        finally:
            await store.close()

    return asyncio.run(ask())


def define(url, name="a", text="* * * * * *"):
    job = Job(name, parse(text, dialect="service"), target="python:pass")
    return asked(url, lambda store: Registrar(store).upsert(job))


def test_migrating_makes_the_tables_and_the_weeks_once(kron, empty):
    dry = kron("migrate", "--store", empty, "--dry-run")
    assert (dry.status, dry.err) == (0, f"{plural(len(migrations()), 'migration')} would run\n")
    assert all(migration.sql in dry.out for migration in migrations())
    first = kron("migrate", "--store", empty)
    assert first.status == 0
    assert [line.split()[0] for line in first.out.splitlines()] == ["ran"] * len(migrations()) + ["created"] * 5
    assert kron("migrate", "--store", empty).err == "nothing to migrate\n"
    assert kron("maintain", "--store", empty, "--retention-days", "30").err == (
        "partitions: 0 created, 0 dropped, 0 kept; 0 old records removed\n"
    )


def test_only_postgresql_is_migrated(kron, tmp_path):
    result = kron("migrate", "--store", f"sqlite:{tmp_path}/kron.db")
    assert result.status == 1
    assert "error[NOT_POSTGRES]" in result.err


def test_why_and_audit_read_postgresql_too(kron, database):
    define(database)
    assert kron("audit", "--store", database).status == 0
    assert kron("why", "a", "--store", database).status == 0


def findings(kron, url):
    result = kron("doctor", "--store", url, "--output", "json")
    return result.status, {one["check"]: one for one in json.loads(result.out)}


class TestDoctor:
    def test_a_database_without_tables(self, kron, empty):
        status, found = findings(kron, empty)
        assert (status, found.keys()) == (1, {"schema"})
        assert "kron migrate" in found["schema"]["hint"]

    def test_what_it_finds_and_what_would_do(self, kron, database):
        define(database)
        with connect(database, autocommit=True) as connection:
            connection.execute("UPDATE schedule_state SET wake = kron_now() - 60000")
        status, found = findings(kron, database)
        assert status == 1
        levels = {check: one["level"] for check, one in found.items()}
        assert levels == {
            "schema": "ok",
            "durability": "error",  # the servers of tests do without
            "role": "warning",
            "rights": "ok",
            "lag": "error",
            "bloat": "ok",
            "partitions": "warning",
            "workers": "warning",
            "skew": "ok",
        }
        assert all(one["hint"] for one in found.values() if one["level"] != "ok")
        assert found["lag"]["message"].startswith("1 due schedule waiting, the oldest for ")

    def test_what_was_done_about_it(self, kron, database):
        kron("maintain", "--store", database)
        asked(database, lambda store: lease(store, "w1"))
        _, found = findings(kron, database)
        assert {check for check, one in found.items() if one["level"] == "ok"} >= {"partitions", "workers", "lag"}
        text = kron("doctor", "--store", database).out
        assert "ok       workers: 1 alive" in text

    def test_workers_with_different_tz_databases(self, kron, database):
        async def leases(store):
            for number, version in enumerate(("2025b", "2026f", "2025b")):
                await store.lease(f"w{number}", frozenset({"http"}), 15_000, version)

        asked(database, leases)
        _, found = findings(kron, database)
        assert found["tz"]["level"] == "warning"
        assert found["tz"]["message"] == "workers have different tz databases: 2025b (2 workers), 2026f (1 worker)"
        assert "update-tz-database.md" in found["tz"]["hint"]

    def test_host_with_another_tz_database_than_the_workers(self, kron, database):
        asked(database, lambda store: store.lease("w1", frozenset({"http"}), 15_000, "2019a"))
        _, found = findings(kron, database)
        message = f"this host has tz database {host_version()}, the workers have 2019a (1 worker)"
        assert (found["tz"]["level"], found["tz"]["message"]) == ("warning", message)

    def test_workers_with_the_tz_database_of_this_host(self, kron, database):
        asked(database, lambda store: store.lease("w1", frozenset({"http"}), 15_000, host_version()))
        _, found = findings(kron, database)
        assert (found["tz"]["level"], found["tz"]["hint"]) == ("ok", "")


async def lease(store, owner):
    return await store.lease(owner, frozenset({"python:pass"}), 15_000)


class Process:
    """`kron worker`, as a process."""

    def __init__(self, url):
        command = [BIN / "kron", "worker", "--store", url]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )

    def until(self, name):
        """The first event of that name."""
        for line in self.process.stderr:
            event = json.loads(line)
            if event["event"] == name:
                return event
        raise AssertionError("it ended")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


def test_a_worker_runs_what_is_due_and_hands_over_when_it_is_told_to_stop(database):
    define(database)
    worker = Process(database)
    answered = worker.until("launch_completed")
    assert answered["identity"] == "a"
    began = time.monotonic()
    status, said = worker.stop()
    assert status == 0
    assert "has stopped" in said
    assert time.monotonic() - began < 10
    fleet = asked(database, lambda store: lease(store, "another"))
    assert [member.owner for member in fleet.members] == ["another"]  # the worker has left
    runs = asked(database, lambda store: store.runs("a", 10))
    assert not {run.state for run in runs} & {"launching", "retry"}  # what it had begun to send was answered


def test_a_worker_without_a_store_says_so(kron, server):
    result = kron("worker", "--store", server.url("nowhere"))
    assert result.status == 1
    assert "error[STORE_FAILED]" in result.err
    assert "nowhere" in result.err
