"""The rows of the service, in a real file: a schedule by its id, a run by its key."""

import asyncio
import hashlib
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kron import parse
from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.engine.worker import Worker
from kron.rules.launch_result import Report
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job
from kron.timing.zone import instant_of
from tests.engine.world import FOLLOWED, Still, Target

NOON = instant_of("2026-03-01T11:00:00Z")  # of Paris


class Now:
    """What a target asks of a world: the time."""

    def __init__(self, clock):
        self.clock = clock


@pytest.fixture
def file(tmp_path):
    """A file after one tick that was emitted 300 ms late, and reported two seconds later."""

    async def history():
        clock = ManualClock(NOON - 600)
        store = SqliteStore(tmp_path / "kron.db", clock)
        registrar = Registrar(store)
        schedule = replace(parse("0 12 * * *", dialect="service", timezone="Europe/Paris"), policy=FOLLOWED)
        await registrar.upsert(Job("deploy:42", schedule, target="test:it"))
        clock.time = NOON + 0.3
        await Worker(store, {"test": Target(Now(clock))}, Still(), owner="w1").tick()
        clock.time = NOON + 2.3
        (run,) = await store.runs("deploy:42", 1)
        await registrar.report(run.key, Report.SUCCESS)
        await store.close()

    asyncio.run(history())
    connection = sqlite3.connect(tmp_path / "kron.db")
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


@pytest.mark.req("SVC-PC-INSERT", "SVC-RUN-RUNAT", "SVC-RUN-TIMES")
def test_a_run_has_its_key_schedule_planned_time_status_and_times(file):
    (run,) = file.execute("SELECT * FROM schedule_runs").fetchall()
    assert run["idempotency_key"] == hashlib.sha256(f"deploy:42:{NOON}".encode()).hexdigest()
    assert (run["schedule_id"], run["run_at"], run["status"]) == ("deploy:42", NOON, "success")
    assert (run["created_at"], run["updated_at"]) == (NOON * 1000 + 300, NOON * 1000 + 2_300)
    (told,) = file.execute("SELECT * FROM ledger").fetchall()
    planned = datetime.fromisoformat(told["period_id"])
    assert planned == datetime(2026, 3, 1, 11, tzinfo=UTC)  # it names its zone, and is noon in Paris


@pytest.mark.req("SVC-DM-ID", "SVC-DM-TZ", "SVC-DM-PAUSED")
def test_a_schedule_has_its_id_for_a_key_its_zone_and_is_not_paused(file):
    (schedule,) = file.execute("SELECT * FROM schedules").fetchall()
    assert (schedule["schedule_id"], schedule["timezone"], schedule["paused"]) == ("deploy:42", "Europe/Paris", 0)
    keys = [row["name"] for row in file.execute("PRAGMA table_info(schedules)") if row["pk"]]
    assert keys == ["schedule_id"]
    kinds = {row["name"]: row["type"] for row in file.execute("PRAGMA table_info(schedules)")}
    assert kinds["schedule_id"] == "TEXT"
    with pytest.raises(sqlite3.IntegrityError):
        file.execute("INSERT INTO schedules SELECT * FROM schedules")
