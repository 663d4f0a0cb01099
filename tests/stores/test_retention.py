"""Old records go, in every store: what has ended long ago, and what was deleted. What is needed stays."""

import time
from dataclasses import replace

import psycopg
import pytest

from kron import KronError
from kron.engine.audit import audit
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.stores.postgres.doctor import _intervals_between, _partitions
from kron.stores.postgres.statements import QUERIES
from kron.stores.sqlite import SqliteStore
from kron.timing.key import key_of
from kron.timing.schedule.policy import Overlap
from tests.postgres import connect
from tests.stores.making import ALL, MANY, NOW, a_case, a_revision, a_run, now

DAY = 86_400_000
LONG_AGO = 1_000_000_000  # seconds: in 2001
TODAY = int(time.time())


def ended(at, state=State.SUCCESS, *, identity="a", trigger="", **more):
    """A run of a period, recorded and ended at that second."""
    run = a_run(state, identity=identity, trigger=trigger)
    key = key_of(identity, at, trigger)
    return run._replace(key=key, nominal=at, due=at * 1000, created=at * 1000, changed=at * 1000, **more)


def defined(store, *runs, identity="a", gap=None):
    case = a_case(identity, cursor=LONG_AGO - 60, overlap=Overlap.ALLOW)
    revision = a_revision(case)
    assert store.commit([ScheduleUpdate(None, case, runs, revision=revision)], NOW) == [True]
    after = now(store, identity)._replace(cursor=TODAY)
    assert store.commit([ScheduleUpdate(now(store, identity), after, (), gap=gap)], NOW) == [True]


def maintained(store, keep=90 * DAY, now=TODAY * 1000):
    """How many records were removed in all; and in how many calls."""
    removed = 0
    for calls in range(1, 200):
        done = store.maintain(now, keep)
        removed += done.removed
        if not done.more:
            return removed, calls
    raise AssertionError("it does not end")


def test_maintain_removes_what_ended_before_the_retention(store):
    old, young, going = ended(LONG_AGO), ended(TODAY - 86_400), ended(LONG_AGO + 60, State.STARTED)
    gap = GapRecord(LONG_AGO + 120, LONG_AGO + 240, 3, Outcome.MISSED, Reason.REPLAY_BOUND)
    defined(store, old, young, going, gap=gap)
    before = now(store)
    assert store.horizon() == 0
    assert maintained(store)[0] == 2 or store.runs_by_key([old.key]) == [None]  # a partition goes as a whole
    assert store.runs_by_key([old.key, young.key, going.key]) == [None, young, going]
    assert store.gaps("a") == []
    assert store.horizon() == TODAY * 1000 - 90 * DAY
    assert now(store) == before  # the cursor stays: no period can run again
    assert len(store.revisions("a")) == 1


def test_maintain_keeps_everything_without_a_retention(store):
    defined(store, ended(LONG_AGO))
    assert store.maintain(TODAY * 1000, None).removed == 0
    assert store.runs_by_key([ended(LONG_AGO).key]) == [ended(LONG_AGO)]
    assert store.horizon() == 0


def test_maintain_removes_what_targets_called_their_runs(store):
    run, young = ended(LONG_AGO, State.STARTED), ended(TODAY - 86_400, State.STARTED)
    defined(store, run, young)
    over = [each._replace(state=State.SUCCESS) for each in (run, young)]
    changes = [RunUpdate(a, b, None, f"run of {b.nominal}") for a, b in zip((run, young), over, strict=True)]
    assert store.update_runs(changes, NOW) == [True, True]
    maintained(store)
    assert store.run_ids([run.key, young.key])[1] == f"run of {young.nominal}"
    if "Postgres" not in type(store.store).__name__:  # there it counts from when it was written
        assert store.run_ids([run.key]) == [None]


def test_backfill_of_an_old_period_is_as_young_as_its_record(store):
    """The key of a request lives at least as long as the retention, whatever period it is about."""
    run = ended(LONG_AGO, trigger="by hand")
    run = run._replace(created=TODAY * 1000, changed=TODAY * 1000)
    defined(store, run)
    maintained(store)
    assert store.runs_by_key([run.key]) == [run]
    case = now(store)
    assert store.commit(
        [ScheduleUpdate(case, case, (run._replace(state=State.PENDING, attempt=0, owner=""),))], NOW
    ) == [False]


def test_audit_asks_for_no_period_that_retention_has_removed(store):
    """Without the horizon, every removed period would be called lost; and what is lost after it is still found."""
    case = a_case(cursor=LONG_AGO, overlap=Overlap.ALLOW)._replace(effective_from=LONG_AGO * 1000)
    made = replace(a_revision(case), at=LONG_AGO * 1000)
    assert store.commit([ScheduleUpdate(None, case, revision=made)], NOW) == [True]
    first = LONG_AGO + 80  # a full minute
    runs = tuple(ended(first + 60 * n) for n in (0, 1, 2, 4))  # the fourth is lost
    assert store.commit([ScheduleUpdate(now(store), now(store)._replace(cursor=first + 240), runs)], NOW) == [True]
    maintained(store, now=(first + 90) * 1000 + 90 * DAY)

    async def audits():
        return [one async for one in audit(store.store)]

    (found,) = store.runner.run(audits())
    assert found.unexplained == (first + 180,)


def deleted(store, identity, at):
    case = a_case(identity, cursor=LONG_AGO, overlap=Overlap.ALLOW)
    revision = a_revision(case)
    object.__setattr__(revision, "at", at)
    assert store.commit([ScheduleUpdate(None, case, revision=revision)], NOW) == [True]
    case = now(store, identity)
    gone = case._replace(deleted=True, next_check_at=None)
    assert store.commit([ScheduleUpdate(case, gone, action=ScheduleAction(ActionKind.DELETED, at))], NOW) == [True]


def test_maintain_removes_schedules_deleted_before_the_retention(store):
    deleted(store, "a", LONG_AGO * 1000)
    deleted(store, "b", TODAY * 1000 - DAY)
    maintained(store)
    assert store.get(["a"]) == [None]
    assert store.revisions("a") == store.actions("a") == []
    assert store.identities("", MANY, deleted=True) == ["b"]
    assert [act.kind for act in store.actions("b")] == [ActionKind.DELETED]
    assert store.fetch_due(ALL, NOW * 2, MANY) == []
    defined(store, identity="a")  # the name is free again
    assert store.identities("", MANY) == ["a"]


def test_maintain_is_done_in_bounded_parts(store):
    count = 3_000
    defined(store)
    for n in range(0, count, 500):
        case, runs = now(store), tuple(ended(LONG_AGO + n + m, State.SKIPPED) for m in range(500))
        assert store.commit([ScheduleUpdate(case, case, runs)], NOW) == [True]
    first = store.maintain(TODAY * 1000, 90 * DAY)
    assert first.removed
    assert first.removed < count or not isinstance(store.store, SqliteStore)  # the others take more at once
    maintained(store)
    assert store.runs("a", MANY) == []


def test_sqlite_file_stays_flat_over_a_long_ledger(sqlite, folder):
    """A year of 200 runs a day, with a retention of 30 days: the file is as large as after 60 days."""
    case, sizes = a_case(cursor=LONG_AGO - 60, overlap=Overlap.ALLOW), []
    assert sqlite.commit([ScheduleUpdate(None, case)], NOW) == [True]
    for day in range(365):
        begin = LONG_AGO + day * 86_400
        before = now(sqlite)
        runs = tuple(ended(begin + n * 60) for n in range(200))
        assert sqlite.commit([ScheduleUpdate(before, before._replace(cursor=begin + 86_399), runs)], NOW) == [True]
        maintained(sqlite, 30 * DAY, (begin + 86_400) * 1000)
        sizes.append(sum(path.stat().st_size for path in folder.glob("kron.db")))
    assert sizes[-1] <= sizes[60] * 1.05
    assert len(sqlite.runs("a", MANY)) == 200 * 30


@pytest.mark.parametrize("wrong", ["DELETE FROM schedule_gaps", "DELETE FROM schedule_actions", "DELETE FROM requests"])
def test_young_records_are_not_deleted_even_by_the_owner(postgres, sql, wrong):
    young = GapRecord(TODAY - 600, TODAY - 300, 3, Outcome.MISSED, Reason.REPLAY_BOUND)
    defined(postgres, ended(TODAY - 86_400, trigger="by hand"), gap=young)
    deleted(postgres, "b", TODAY * 1000)
    maintained(postgres)
    with pytest.raises(psycopg.errors.CheckViolation):
        sql(wrong)


def test_postgres_keeps_the_last_day_whatever_is_asked(postgres):
    with pytest.raises(KronError, match="one day or more"):
        postgres.maintain(TODAY * 1000, 3_600_000)


def test_postgres_moves_the_rows_of_a_missed_week(postgres, sql):
    """Nobody made the partition of last week: its rows lie in the default one until a worker comes by."""
    run = ended(TODAY - 7 * 86_400)
    defined(postgres, run)
    assert sql("SELECT count(*) FROM runs_default") == [(1,)]
    made = postgres.maintain(TODAY * 1000, 90 * DAY).made
    assert len(made) == 6
    assert sql("SELECT count(*) FROM runs_default") == [(0,)]
    assert postgres.runs_by_key([run.key]) == [run]


def test_postgres_is_maintained_by_one_process_at_a_time(postgres, sql, database):
    with connect(database) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('kron maintenance kron', 0))")
        assert postgres.maintain(TODAY * 1000, 90 * DAY).made == ()
    assert len(postgres.maintain(TODAY * 1000, 90 * DAY).made) == 5


def test_the_doctor_reads_no_week_to_find_rows_outside_of_them(postgres, sql, runner):
    """With a million rows in a week, a question that reads it takes longer than a statement may."""
    postgres.maintain(TODAY * 1000, None)
    defined(postgres, ended(TODAY))

    def found():
        (finding,) = runner.run(postgres.store.pool.read(_partitions))
        return finding.level

    assert found() == "ok"
    for first, last in _intervals_between({start for (start,) in sql("SELECT start FROM kron_partitions")}):
        values = {"tenant": "default", "first": first, "last": last}
        plan = runner.run(postgres.store.pool.read(lambda talk, values=values: _plan(talk, values)))
        assert "runs_default" in plan
        assert "runs_2" not in plan
    defined(postgres, ended(LONG_AGO, identity="b"), identity="b")
    assert found() == "warning"


async def _plan(talk, values):
    rows = await (
        await talk.connection.execute(b"EXPLAIN " + QUERIES["rows_in_interval"], values, binary=True)
    ).fetchall()
    return "\n".join(map(str, rows))
