"""What the store in a file has that others have not: a disk, a version, other processes, and guards of its own."""

import asyncio
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from kron import KronError
from kron.engine.clock import ManualClock
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.stores.sqlite import SqliteStore
from kron.stores.sqlite.statements import QUERIES, SCHEMA
from kron.timing.schedule.policy import Overlap
from tests.stores.making import (
    ALL,
    MANY,
    NOW,
    SECONDS,
    Handle,
    a_case,
    a_gap,
    a_job,
    a_revision,
    a_run,
    define,
    now,
    say,
    view,
    write,
)


@pytest.fixture
def path(sqlite):
    return sqlite.store.file.path


@pytest.fixture
def other(path):
    """Somebody else's hands on the file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()


def test_everything_is_there_after_a_restart(sqlite, path, clock):
    case = define(sqlite, None, a_run(State.LAUNCHING), a_run(State.SKIPPED, 2), a_run(minute=3, trigger="by hand"))
    assert write(sqlite, case, job=a_job(name="new"), revision=2, paused=True)
    assert write(sqlite, now(sqlite), gap=a_gap(5, 9, 5), cursor=SECONDS + 600)
    before = view(sqlite)
    sqlite.close()
    sqlite.store = SqliteStore(path, clock)
    assert view(sqlite) == before


def test_a_commit_is_on_the_disk(sqlite):
    connection = sqlite.store.file.connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_two_stores_on_one_file_see_each_other(sqlite, runner, path):
    second = Handle(runner, SqliteStore(path, ManualClock(float(SECONDS))))
    case = define(sqlite)
    assert now(second) == case
    assert write(second, case, a_run(State.LAUNCHING), cursor=SECONDS + 60)
    assert not write(sqlite, case, a_run(State.LAUNCHING), cursor=SECONDS + 60)
    assert view(sqlite) == view(second)
    second.close()


def test_many_may_open_a_new_file_at_once(folder):
    """Only one of them makes the tables."""
    script = (
        "import sys; from kron.stores.sqlite.file import File; from pathlib import Path; File(Path(sys.argv[1]), 20)"
    )
    command = [sys.executable, "-c", script, str(folder / "new.db")]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(6)]
    assert [(process.communicate()[1], process.returncode) for process in started] == [(b"", 0)] * 6


def test_a_newer_file_is_left_alone(sqlite, path, other):
    other.execute("PRAGMA user_version = 2")
    with pytest.raises(KronError, match=r"has schema version 2, this Kron supports up to 1") as refused:
        SqliteStore(path, ManualClock())
    assert refused.value.code == "STORE_TOO_NEW"
    assert "upgrade Kron" in refused.value.hint


def test_the_database_of_something_else_is_left_alone(folder):
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = (folder / "other.db").read_bytes()
    with pytest.raises(KronError, match="database of another program"):
        SqliteStore(folder / "other.db", ManualClock())
    assert (folder / "other.db").read_bytes() == before
    (folder / "text.db").write_text("not a database at all, but long enough to be looked at" * 50)
    with pytest.raises(KronError, match="not a database"):
        SqliteStore(folder / "text.db", ManualClock())
    with pytest.raises(KronError, match="unable to open") as refused:
        SqliteStore(folder / "no such folder" / "kron.db", ManualClock())
    assert "folder" in refused.value.hint


def test_a_file_in_memory_would_be_forgotten(folder):
    with pytest.raises(KronError, match="cannot have a write-ahead log"):
        SqliteStore(":memory:", ManualClock())


def test_who_writes_for_too_long_is_named(runner, folder):
    store = Handle(runner, SqliteStore(folder / "kron.db", ManualClock(float(SECONDS)), patience=0.05))
    other = sqlite3.connect(folder / "kron.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KronError, match="locked") as refused:
        define(store)
    assert refused.value.code == "STORE_FAILED"
    assert "another process" in refused.value.hint
    assert store.get(["a"]) == [None]  # readers do not wait
    other.execute("ROLLBACK")
    define(store)
    other.close()
    store.close()


def test_what_is_asked_for_together_is_one_write_to_the_disk(sqlite, runner):
    commits = []
    sqlite.store.file.connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)

    async def many():
        cases = [a_case(f"s{n}") for n in range(50)]
        asked = [sqlite.store.commit([ScheduleUpdate(None, case, revision=a_revision(case))], NOW) for case in cases]
        return await asyncio.gather(*asked)

    assert runner.run(many()) == [[True]] * 50
    assert len(commits) < 10


def test_one_that_fails_among_several_fails_alone(sqlite, runner):
    good, bad = a_case("good"), a_case("bad\0")

    async def three():
        asked = [ScheduleUpdate(None, case, revision=a_revision(case)) for case in (good, bad, a_case("fine"))]
        return await asyncio.gather(*(sqlite.store.commit([s], NOW) for s in asked), return_exceptions=True)

    first, second, third = runner.run(three())
    assert (first, third) == ([True], [True])
    assert second.code == "NOT_STORABLE"
    assert sqlite.identities("", MANY) == ["fine", "good"]


def test_a_batch_that_fails_leaves_nothing(sqlite):
    good, bad = a_case("good"), a_case("bad\0")
    with pytest.raises(KronError, match="cannot be stored"):
        sqlite.commit([ScheduleUpdate(None, case) for case in (good, bad)], NOW)
    assert sqlite.identities("", MANY) == []


def test_a_full_disk_is_said_and_loses_nothing(sqlite):
    case = define(sqlite)
    connection = sqlite.store.file.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    runs = [a_run(State.SKIPPED, minute) for minute in range(1, 500)]
    with pytest.raises(KronError, match="full") as refused:
        write(sqlite, case, *runs, cursor=SECONDS + 600)
    assert "free disk space" in refused.value.hint
    assert now(sqlite) == case
    connection.execute("PRAGMA max_page_count = 1000000")
    assert write(sqlite, case, *runs, cursor=runs[-1].nominal)


@pytest.mark.parametrize("how", ["removed", "replaced", "without its log"])
def test_a_file_that_is_taken_away_is_said_and_not_written_to(sqlite, path, other, how):
    """Somebody restores a backup under a process that runs: what that process wrote from then on would be lost."""
    case = define(sqlite, None)
    if how == "replaced":
        backup = sqlite3.connect(path.with_name("backup"))
        other.backup(backup)
        backup.close()
        path.with_name("backup").replace(path)
    else:
        Path(f"{path}-wal" if how == "without its log" else path).unlink()
    for kind in (lambda: now(sqlite), lambda: write(sqlite, case, cursor=SECONDS + 600)):
        with pytest.raises(KronError, match="removed or replaced") as caught:
            kind()
        assert "start again" in caught.value.hint


def test_it_is_closed_once_and_for_all(folder, runner):
    store = Handle(runner, SqliteStore(folder / "kron.db", ManualClock()))
    store.close()
    with pytest.raises(RuntimeError, match="shutdown"):
        store.get(["a"])


@pytest.mark.parametrize(
    ("damage", "table", "row"),
    [
        ("UPDATE schedules SET schedule = '* * *', revision = 2", "schedules", "a"),
        ("UPDATE schedules SET dialect = 'quartz', revision = 2", "schedules", "a"),
        ("UPDATE schedules SET timezone = 'Europe/Atlantis', revision = 2", "schedules", "a"),
        ("UPDATE schedules SET policy = '{}', revision = 2", "schedules", "a"),
        ("UPDATE schedules SET start_at = 'soon', revision = 2", "schedules", "a"),
        ("UPDATE schedules SET cursor = 'far'", "schedules", "a"),
        ("UPDATE schedule_runs SET reason = 'because'", "schedule_runs", a_run().key),
        ("UPDATE schedule_runs SET not_before = 'later'", "schedule_runs", a_run().key),
    ],
)
def test_a_row_that_cannot_be_read_is_named(sqlite, other, damage, table, row):
    define(sqlite, None, a_run())
    other.execute(damage)
    with pytest.raises(KronError, match="cannot be read") as refused:
        sqlite.get(["a"])
    assert refused.value.details == {"table": table, "row": row}
    define(sqlite, a_case("b"))
    aside, readable = sqlite.fetch_due(ALL, NOW, 10)
    assert (aside.identity, aside.next_check_at, readable.identity) == ("a", NOW, "b")
    assert "cannot be read" in aside.reason
    with pytest.raises(KronError, match="cannot be read"):
        write(sqlite, a_case(), cursor=SECONDS + 60)


GUARDS = {
    "tombstone": "DELETE FROM schedules",
    "the revision and the cursor": "UPDATE schedules SET cursor = cursor - 1",
    "cursor of a schedule only grow": "UPDATE schedules SET revision = 0",
    "with its revision only": "UPDATE schedules SET policy = '{}'",
    "changes with its revision": "UPDATE schedules SET end_at = 5",
    "a revision never changes": "UPDATE schedule_revisions SET note = 'other'",
    "a revision stays": "DELETE FROM schedule_revisions",
    "numbered upwards": "INSERT INTO schedule_revisions SELECT schedule_id, 0, '', '', '', '', '', '', '', '', 0, 0,"
    " NULL, NULL, NULL, NULL, NULL, NULL, 0, '', '', 0 FROM schedules",
    "a run only moves forward": "UPDATE schedule_runs SET status = 'pending' WHERE status = 'started'",
    "only moves forward": "UPDATE schedule_runs SET attempt = 0 WHERE status = 'started'",
    "moves forward": "UPDATE schedule_runs SET outcome = 'missed' WHERE status = 'started'",
    "run only": "UPDATE schedule_runs SET updated_at = 0 WHERE status = 'skipped'",
    "the run of its period": "UPDATE schedule_runs SET run_at = run_at + 1 WHERE status = 'started'",
    "an open run stays": "DELETE FROM schedule_runs WHERE status = 'started'",
    "a gap never changes": "UPDATE schedule_gaps SET count = 1",
    "a gap stays": "DELETE FROM schedule_gaps",
    "in common": "INSERT INTO schedule_gaps SELECT schedule_id, last, last, 1, outcome, reason FROM schedule_gaps",
    "outcome IS NOT NULL": "UPDATE schedule_runs SET status = 'lost', outcome = NULL WHERE status = 'launching'",
    "status IN": "UPDATE schedule_runs SET status = 'dreaming' WHERE status = 'started'",
    "count BETWEEN": f"INSERT INTO schedule_gaps VALUES ('a', {SECONDS + 900}, {SECONDS + 901}, 3, 'missed', '')",
}


@pytest.mark.parametrize(("says", "kind"), GUARDS.items(), ids=GUARDS)
def test_the_file_itself_refuses_what_may_not_be(sqlite, other, says, kind):
    """Whoever writes, with whatever code."""
    allow = a_case(overlap=Overlap.ALLOW)
    define(sqlite, allow, a_run(State.STARTED), a_run(State.SKIPPED, 2), a_run(State.LAUNCHING, 3))
    assert write(sqlite, now(sqlite), gap=a_gap(5, 9, 5), cursor=SECONDS + 600)
    before = view(sqlite)
    with pytest.raises(sqlite3.IntegrityError, match=says):
        other.execute(kind)
    assert view(sqlite) == before


COPY = """
INSERT INTO schedule_runs
SELECT :key, schedule_id, run_at + :later, revision, fire_at, :status, trigger_id, outcome, reason, attempt, owner,
       lease_until, not_before, maybe_delivered, created_at, updated_at, sent_at, unsent,
       launched, failures, ends_by, exclusive
FROM schedule_runs LIMIT 1
"""


@pytest.mark.parametrize(
    ("says", "copy"),
    [
        ("schedule_runs.idempotency_key", {"key": a_run().key, "later": 60, "status": "pending"}),
        ("schedule_runs.schedule_id, schedule_runs.run_at", {"key": "k", "later": 0, "status": "pending"}),
        ("UNIQUE constraint failed: schedule_runs.schedule_id$", {"key": "k", "later": 60, "status": "retry"}),
        ("the period lies in a gap", {"key": "k", "later": 360, "status": "pending"}),
    ],
    ids=["key", "period", "active", "gap"],
)
def test_the_file_itself_refuses_a_second(sqlite, other, says, copy):
    define(sqlite, None, a_run(State.LAUNCHING))
    assert write(sqlite, now(sqlite), gap=a_gap(5, 9, 5), cursor=SECONDS + 600)
    with pytest.raises(sqlite3.IntegrityError, match=says):
        other.execute(COPY, copy)


@pytest.mark.req("SVC-RUN-FK")
def test_a_run_or_a_gap_of_no_schedule_is_refused(sqlite, other):
    define(sqlite, None, a_run(State.SKIPPED))
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        other.execute("INSERT INTO schedule_gaps VALUES ('nobody', 1, 1, 1, 'missed', 'deadline')")
    other.execute("CREATE TEMP TABLE stray AS SELECT * FROM schedule_runs")
    other.execute("UPDATE stray SET idempotency_key = 'k', schedule_id = 'nobody'")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        other.execute("INSERT INTO schedule_runs SELECT * FROM stray")


@pytest.mark.req("DECL-IDEM-PARTIAL")
def test_the_guards_hold_when_the_check_before_them_is_gone(sqlite, monkeypatch):
    """Even so nothing is half-written, and the error says whose mistake it is."""
    monkeypatch.setattr("kron.stores.sqlite.commit.can_commit", lambda *_: True)
    case = define(sqlite, None, a_run(State.LAUNCHING))
    before = view(sqlite)
    for settlement in (
        ScheduleUpdate(case, case._replace(cursor=SECONDS - 1)),
        ScheduleUpdate(case, case._replace(cursor=SECONDS + 60), (a_run(State.SKIPPED, 3), a_run())),
        ScheduleUpdate(case, case._replace(cursor=SECONDS + 60), (a_run(State.SKIPPED, 3), a_run(State.LAUNCHING, 2))),
    ):
        with pytest.raises(KronError, match="write rejected by a database constraint") as refused:
            sqlite.commit([settlement], NOW)
        assert refused.value.code == "STORE_REFUSED"
        assert view(sqlite) == before


def test_whether_a_run_must_be_alone_is_asked_when_it_starts(sqlite, other):
    define(sqlite, a_case(overlap=Overlap.ALLOW), a_run(State.STARTED), a_run(minute=2))
    assert write(sqlite, now(sqlite), job=a_job(), revision=2)
    started, pending = now(sqlite).open_runs
    assert say(sqlite, started, started._replace(state=State.SUCCESS))
    begun = pending._replace(state=State.LAUNCHING, attempt=1, owner="w")
    assert write(sqlite, now(sqlite), changed=[(pending, begun)])
    assert say(sqlite, begun, begun._replace(state=State.RETRY))
    assert other.execute("SELECT exclusive FROM schedule_runs ORDER BY run_at").fetchall() == [(0,), (1,)]


@pytest.mark.req("SVC-ARCH-DB", "SVC-RUN-KEY", "SVC-RUN-TIMES", "SVC-IDEM-KEY", "KSPEC-TIME-RFC3339")
def test_people_who_look_into_the_file_find_what_the_service_document_names(sqlite, other):
    define(sqlite, None, a_run(State.LAUNCHING), a_run(State.SKIPPED, 2))
    rows = other.execute("SELECT idempotency_key, schedule_id, run_at FROM schedule_runs").fetchall()
    assert [sha256(f"{identity}:{run_at}".encode()).hexdigest() for _, identity, run_at in rows] == [r[0] for r in rows]
    assert {name for (name,) in other.execute("SELECT schedule_id FROM schedules")} == {r[1] for r in rows}
    asked = "SELECT schedule_id, period_id, fire_at, status, outcome, created_at, updated_at FROM ledger"
    period, made = "2027-01-15T08:01:00Z", "2027-01-15T08:00:00.000Z"
    assert other.execute(asked).fetchone() == ("a", period, f"{period[:-1]}.000Z", "launching", None, made, made)


def plan_of(connection, name, **values):
    rows = connection.execute("EXPLAIN QUERY PLAN " + QUERIES[name], values).fetchall()
    return " / ".join(row[3] for row in rows)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("due_schedules", "schedules_due"),
        ("next_check", "schedules_due"),
        ("open_runs", "runs_open"),
        ("advance_cursor", "runs_open"),
        ("ahead", "runs_by_time"),
        ("runs", "runs_by_time"),
        ("runs_by_key", "sqlite_autoindex_schedule_runs_1"),
        ("existing_keys", "sqlite_autoindex_schedule_runs_1"),
        ("runs_before", "runs_by_time"),
        ("latest_runs", "runs_by_time"),
        ("identities", "PRIMARY KEY"),
        ("actions", "actions_by_schedule"),
    ],
)
def test_no_question_reads_a_whole_table(other, name, index):
    values = {"shards": "[1]", "upto": 1, "limit": 1, "schedule_id": "a", "cursor": 1, "keys": "[]", "after": ""}
    values |= {"before": "k", "prefix": "a", "beyond": "b", "paused": None, "deleted": 0, "identity": "a"}
    values |= {"kinds": '["test"]', "names": '["a"]', "wake": 1, "revision": 1, "old_cursor": 1, "old_since": 1}
    values |= {"next_at": 1, "key": "k"}
    plan = plan_of(other, name, **values)
    assert index in plan
    assert "SCAN schedule_runs" not in plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan


def test_every_statement_has_its_use():
    folder = Path(sys.modules[SqliteStore.__module__].__file__).parent
    code = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    assert [name for name in QUERIES if f'"{name}"' not in code] == []


def test_the_schema_is_read_statement_by_statement():
    assert all(sqlite3.complete_statement(statement) for statement in SCHEMA)
    assert (
        len([statement for statement in SCHEMA if "CREATE" in statement]) == len(SCHEMA) - 4
    )  # two pragmas, and the first rows of `retention` and `event_ring`
