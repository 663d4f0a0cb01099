"""`kron why` and `kron audit` on a real file."""

import asyncio
import json
from hashlib import sha256

import pytest

from kron import parse
from kron.engine.clock import ManualClock
from kron.engine.registrar import Actor, Registrar
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job, Source
from kron.timing.zone import instant_of
from tests.engine.world import Still

TEXT = "0 3 * * * @policy(deadline=10m)"


class Target:
    async def start(self, launch):
        return LaunchResult.OK

    async def cancel(self, run):
        pass


async def history(path, end=Report.SUCCESS):
    """A run that succeeded, one that overlapped it never, one that nobody came for."""
    clock = ManualClock(instant_of("2026-03-01T00:00:00Z"))
    store = SqliteStore(path, clock)
    registrar = Registrar(store)
    worker = Worker(store, {"test": Target()}, Still(), owner="w1")
    await registrar.upsert(Job("billing", parse(TEXT, dialect="kron"), target="test:it"), Actor("ann", "first"))
    clock.time = instant_of("2026-03-01T03:00:00Z")
    await worker.tick()
    (run,) = await store.runs("billing", 1)
    await registrar.report(run.key, end)
    clock.time = instant_of("2026-03-02T09:00:00Z")
    await worker.tick()
    await store.close()


@pytest.fixture
def store(tmp_path):
    asyncio.run(history(tmp_path / "kron.db"))
    return f"sqlite:{tmp_path / 'kron.db'}"


def test_a_run_is_explained_by_its_revision_its_decision_and_its_end(kron, store):
    result = kron("why", "billing", "--store", store, "--at", "2026-03-01T12:00:00Z")
    assert result.status == 0
    assert result.out.splitlines() == [
        f"revision 1 by ann, 2026-03-01T00:00:00Z: {TEXT} (first)",
        "period 2026-03-01T03:00:00Z: chosen 2026-03-01T03:00:00Z",
        "executed: The run succeeded.",
        "started 2026-03-01T03:00:00.000Z, finished 2026-03-01T03:00:00.000Z",
    ]


def test_attempts_that_failed_are_listed_with_their_cause(kron, tmp_path):
    class Down(Target):
        answers = (
            LaunchResponse(LaunchResult.RETRYABLE, code=503, excerpt="upstream down"),
            LaunchResponse(LaunchResult.OK, code=202),
        )

        async def start(self, launch):
            return self.answers[launch.run.attempt - 1]

    async def scene():
        clock = ManualClock(instant_of("2026-03-01T02:30:00Z"))
        store = SqliteStore(tmp_path / "kron.db", clock)
        await Registrar(store).upsert(Job("a", parse(TEXT, dialect="kron"), target="test:it"))
        for moment in ("2026-03-01T03:00:00Z", "2026-03-01T03:00:02Z"):
            clock.time = instant_of(moment)
            await Worker(store, {"test": Down()}, Still(), owner="w1").tick()
        (run,) = await store.runs("a", 1)
        clock.time = instant_of("2026-03-01T03:00:05Z")
        await Registrar(store).report(run.key, Report.FAILED, error="disk full, token=abc")
        await store.close()

    asyncio.run(scene())
    asked = ("why", "a", "--store", f"sqlite:{tmp_path / 'kron.db'}", "--at", "2026-03-01T12:00:00Z")
    assert kron(*asked).out.splitlines()[3:] == [
        "started 2026-03-01T03:00:02.000Z, finished 2026-03-01T03:00:05.000Z",
        'attempt 1 at 2026-03-01T03:00:00.000Z: not accepted, HTTP 503, after 0 ms: "upstream down"',
        'attempt 2 at 2026-03-01T03:00:02.000Z: failed after 3,000 ms: "disk full, token=…"',
    ]
    found = json.loads(kron(*asked, "--output", "json").out)
    assert found["attempts"][0] == {
        "number": 1,
        "at": 1772334000000,
        "duration": 0,
        "result": "retryable",
        "code": 503,
        "excerpt": "upstream down",
    }
    assert (found["started"], found["finished"]) == (1772334002000, 1772334005000)


@pytest.mark.req("KSPEC-OBS-FIELDS", "KSPEC-SEED-CANON")
def test_a_period_that_was_not_run_says_why_not(kron, store):
    found = json.loads(kron("why", "billing", "--store", store, "--at", "2026-03-02T12:00:00Z", "--output", "json").out)
    assert (found["outcome"], found["reason"]) == ("missed", "deadline")
    assert found["explanation"] == "missed: The deadline passed before the run was launched."
    decision = found["decision"]
    assert decision["period_id"] == decision["nominal_time"] == decision["chosen_time"] == "2026-03-02T03:00:00Z"
    assert decision["seed_hash"] == sha256(b"billing\n2026-03-02T03:00:00Z\n").hexdigest()
    assert decision["distribution"] == {"name": "uniform", "parameters": {}}


def test_a_period_to_come_says_when_and_that_no_worker_lives(kron, store):
    asked = ("why", "billing", "--store", store, "--at", "2026-03-03T12:00:00Z")
    assert kron(*asked).out.splitlines()[-2:] == [
        "no record yet: The period was due at 2026-03-03T03:00:00Z, and no worker has handled it yet.",
        "No living worker can launch 'test', the target of this schedule. Such a worker was last alive at "
        "2026-03-02T09:00:00Z.",
    ]
    assert json.loads(kron(*asked, "--output", "json").out)["launchable"] is False


def test_a_schedule_that_is_not_there_is_not_found(kron, store):
    result = kron("why", "biling", "--store", store)
    assert (result.status, result.out) == (1, "")
    assert "error[NOT_FOUND]" in result.err


def test_an_audit_accounts_for_every_period(kron, store):
    result = kron("audit", "--store", store)
    assert result.status == 0
    assert result.out == "ok     billing, revision 1: 1 executed, 1 missed: deadline\n"
    (found,) = json.loads(kron("audit", "billing", "--store", store, "--output", "json").out)
    assert found["ok"]
    assert found["unexplained"] == []


def test_a_store_that_does_not_exist_is_said_so(kron):
    result = kron("audit", "--store", "mongo:x")
    assert result.status == 2
    assert "error[UNKNOWN_STORE]" in result.err


@pytest.mark.parametrize("command", [("why", "billing"), ("audit",)])
def test_a_mistyped_file_is_refused_and_not_created(kron, tmp_path, command):
    path = tmp_path / "typo.db"
    result = kron(*command, "--store", f"sqlite:{path}")
    assert result.status == (2 if command[0] == "audit" else 1)
    assert "does not exist" in result.err
    assert not path.exists()


def test_audit_of_a_store_without_schedules_says_so(kron, tmp_path):
    async def empty():
        await SqliteStore(tmp_path / "empty.db", ManualClock(0)).close()

    asyncio.run(empty())
    (tmp_path / "empty.db").touch()
    result = kron("audit", "--store", f"sqlite:{tmp_path / 'empty.db'}")
    assert "no schedules are visible" in result.err


def test_audit_counts_and_bounds_what_is_unknown(kron, tmp_path):
    class Silent(Target):
        async def start(self, launch):
            return LaunchResult.UNKNOWN

    async def sent():
        clock = ManualClock(instant_of("2026-03-01T02:30:00Z"))
        store = SqliteStore(tmp_path / "u.db", clock)
        await Registrar(store).upsert(Job("a", parse(TEXT, dialect="kron"), target="test:it"))
        clock.time = instant_of("2026-03-01T03:00:00Z")
        await Worker(store, {"test": Silent()}, Still(), owner="w1").tick()
        await store.close()

    asyncio.run(sent())
    store = f"sqlite:{tmp_path / 'u.db'}"
    result = kron("audit", "--store", store)
    assert result.status == 1
    assert "1 schedule, 0 with unexplained periods; runs: 0 failed, 0 lost, 1 unknown" in result.err
    assert kron("audit", "--store", store, "--max-unknown", "1").status == 0


def test_an_audit_counts_the_runs_that_failed_in_the_line_of_their_schedule(kron, tmp_path):
    """`ok` means that every period has an outcome."""
    asyncio.run(history(tmp_path / "failed.db", Report.FAILED))
    told = kron("audit", "--store", f"sqlite:{tmp_path / 'failed.db'}").out
    assert told == "ok     billing, revision 1: 1 executed: failed, 1 missed: deadline\n"


def test_source_is_shown_and_the_canonical_text_where_it_differs(kron, tmp_path):
    async def define():
        store = SqliteStore(tmp_path / "kron.db", ManualClock(instant_of("2026-03-01T00:00:00Z")))
        for text in ("0 3 * * 1-5", "0 3 * * MON-FRI @tz(Europe/Paris)"):
            schedule = parse(text, dialect="kron", timezone="Europe/Paris")
            source = Source(text, "kron", None if "@tz" in text else "Europe/Paris")
            await Registrar(store).upsert(Job(text[:9], schedule, target="test:it", source=source))
        await store.close()

    asyncio.run(define())
    asked = ("--store", f"sqlite:{tmp_path / 'kron.db'}", "--at", "2026-03-04T12:00:00Z")
    both, one = (kron("why", name, *asked).out.splitlines()[0] for name in ("0 3 * * 1", "0 3 * * M"))
    assert both.endswith(": 0 3 * * 1-5 (canonical: 0 3 * * MON-FRI @tz(Europe/Paris))")
    assert one.endswith("Z: 0 3 * * MON-FRI @tz(Europe/Paris)")
    found = json.loads(kron("why", "0 3 * * 1", *asked, "--output", "json").out)
    assert found["source"] == {"text": "0 3 * * 1-5", "dialect": "kron", "timezone": "Europe/Paris"}
