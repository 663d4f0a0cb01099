"""Attempts are written with the change of their run or not at all, bounded, and removed with their run."""

import sqlite3
from contextlib import closing

import psycopg
import pytest

from kron.rules.attempt import MAX_ATTEMPTS_PER_RUN, Attempt, AttemptResult, lost_attempt
from kron.rules.plan import plan
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate, update_of
from kron.stores.postgres import PostgresStore
from kron.timing.schedule.policy import Overlap
from tests.stores.making import NOW, SECONDS, Handle, a_case, a_run, define, now, say, view, write
from tests.stores.test_retention import LONG_AGO, TODAY, defined, ended, maintained


def an_attempt(number=1, result=AttemptResult.RETRYABLE, **more):
    return Attempt(number, NOW + number, 31, result, 503, "upstream down")._replace(**more)


def refused(run):
    return run._replace(state=State.RETRY, lease=None, not_before=NOW + 1_000, changed=NOW + 5)


def test_attempt_is_written_with_its_run_and_read_back_equal(store):
    run = a_run(State.LAUNCHING)
    define(store, None, run)
    assert store.attempts([run.key]) == [()]
    assert say(store, run, refused(run), attempt=an_attempt(excerpt="“naïve” 😀"))
    assert store.attempts([run.key, "0" * 64, "no key"]) == [(an_attempt(excerpt="“naïve” 😀"),), (), ()]
    assert store.attempts([]) == []


@pytest.mark.parametrize("result", AttemptResult)
def test_attempt_of_every_result_is_stored(store, result):
    run = a_run(State.LAUNCHING)
    define(store, None, run)
    attempt = an_attempt(result=result, code=None, excerpt="x" * 200)
    assert say(store, run, refused(run), attempt=attempt)
    assert store.attempts([run.key]) == [(attempt,)]


def test_attempt_is_written_once_though_its_write_is_repeated(store):
    """The response to a write was lost: the second write has a token that is no longer current."""
    run = a_run(State.LAUNCHING)
    define(store, None, run)
    assert say(store, run, refused(run), attempt=an_attempt())
    assert not say(store, run, refused(run), attempt=an_attempt(excerpt="again"))
    assert store.attempts([run.key]) == [(an_attempt(),)]


@pytest.mark.parametrize(
    "stale", [{"attempt": 2}, {"owner": "w2"}, {"state": State.RETRY}, {"lease": NOW + 1}], ids=str
)
def test_attempt_with_a_stale_token_is_not_written(store, stale):
    run = a_run(State.LAUNCHING)
    define(store, None, run)
    before = run._replace(**stale)
    assert not say(store, before, refused(before), attempt=an_attempt())
    assert store.attempts([run.key]) == [()]


def test_rejected_change_of_a_batch_writes_no_attempt(store):
    runs = [a_run(State.LAUNCHING, minute) for minute in (1, 2, 3)]
    define(store, a_case(overlap=Overlap.ALLOW), *runs)
    changes = [
        RunUpdate(run, refused(run), None, attempt=an_attempt(excerpt=str(run.nominal)) if n else None)
        for n, run in enumerate(runs)
    ]
    changes[1] = changes[1]._replace(before=runs[1]._replace(owner="w9"))
    assert store.update_runs(changes, NOW) == [True, False, True]
    assert store.attempts([run.key for run in runs]) == [(), (), (an_attempt(excerpt=str(runs[2].nominal)),)]


def test_later_result_of_an_attempt_replaces_the_earlier_one(store):
    run = a_run(State.LAUNCHING, attempt=2)
    accepted = run._replace(state=State.ENQUEUED, outcome=a_run(State.STARTED).outcome)
    define(store, None, run)
    assert say(store, run, accepted, attempt=an_attempt(2, AttemptResult.OK, code=202))
    failed = an_attempt(2, AttemptResult.FAILED, code=None, duration=9_000)
    assert say(store, accepted, accepted._replace(state=State.FAILED), attempt=failed)
    assert store.attempts([run.key]) == [(failed,)]


def test_two_results_of_one_attempt_in_a_batch_leave_the_last(store):
    run = a_run(State.LAUNCHING, attempt=2)
    accepted = run._replace(state=State.ENQUEUED, outcome=a_run(State.STARTED).outcome)
    define(store, None, run)
    ok, failed = an_attempt(2, AttemptResult.OK), an_attempt(2, AttemptResult.FAILED)
    changes = [
        RunUpdate(run, accepted, None, attempt=ok),
        RunUpdate(accepted, accepted._replace(state=State.FAILED), None, attempt=failed),
    ]
    assert store.update_runs(changes, NOW) == [True, True]
    assert store.attempts([run.key]) == [(failed,)]


def test_run_keeps_its_newest_attempts(store):
    run = a_run(State.LAUNCHING)
    define(store, None, run)
    for number in range(1, MAX_ATTEMPTS_PER_RUN + 8):
        retry = refused(run)
        assert say(store, run, retry, attempt=an_attempt(number))
        run = retry._replace(state=State.LAUNCHING, attempt=number + 1, lease=NOW + 60_000)
        assert write(store, now(store), changed=[(retry, run)])
    (kept,) = store.attempts([run.key])
    assert [attempt.number for attempt in kept] == list(range(8, MAX_ATTEMPTS_PER_RUN + 8))


def test_lost_attempt_is_committed_with_its_plan(store):
    run = a_run(State.LAUNCHING, lease=NOW, sent=NOW - 30_000)
    case = define(store, a_case(cursor=SECONDS + 60), run)
    update = update_of(plan(case, NOW, owner="w2", lease=30_000))
    stale = update._replace(before=case._replace(cursor=SECONDS))
    before = view(store)
    assert store.commit([stale], NOW) == [False]
    assert view(store) == before
    assert store.commit([update], NOW) == [True]
    assert store.attempts([run.key]) == [(lost_attempt(run, NOW),)]
    assert store.commit([update], NOW) == [False]


def test_lost_attempts_of_a_rejected_group_are_not_written(store):
    run = a_run(State.STARTED, lease=NOW, sent=NOW - 30_000)
    case = define(store, a_case(cursor=SECONDS + 60), run)
    other = define(store, a_case("b"))
    update = update_of(plan(case, NOW, owner="w2", lease=30_000))
    wrong = ScheduleUpdate(other._replace(cursor=0), other)
    assert store.commit([update, wrong], NOW, together=True) == [False, False]
    assert store.attempts([run.key]) == [()]


def test_maintain_removes_attempts_with_their_runs(store):
    old, young, open_run = (
        ended(LONG_AGO, State.STARTED),
        ended(TODAY - 86_400, State.STARTED),
        ended(LONG_AGO + 60, State.STARTED, attempt=2),
    )
    runs = (old, young, open_run)
    defined(store, *runs)
    changes = [
        RunUpdate(run, run._replace(state=State.FAILED), None, attempt=an_attempt(at=run.due)) for run in (old, young)
    ]
    heartbeat = open_run._replace(lease=NOW + 60_000)
    changes.append(RunUpdate(open_run, heartbeat, None, attempt=an_attempt(2, at=open_run.due)))
    assert store.update_runs(changes, NOW) == [True, True, True]
    maintained(store)
    assert store.runs_by_key([run.key for run in runs])[0] is None
    kept = [(an_attempt(at=young.due),), (an_attempt(2, at=open_run.due),)]  # an open run keeps even old attempts
    assert store.attempts([run.key for run in runs]) == [(), *kept]


def test_batch_without_attempts_needs_no_statement_for_them(postgres, monkeypatch):
    runs = [a_run(State.LAUNCHING, minute) for minute in (1, 2)]
    define(postgres, a_case(overlap=Overlap.ALLOW), *runs)
    executed = []

    async def write_run_updates(session, changes):
        execute = session.execute

        async def listed(query, **values):
            executed.append(query)
            return await execute(query, **values)

        monkeypatch.setattr(type(session), "execute", lambda self, query, **values: listed(query, **values))
        return await written(session, changes)

    from kron.stores.postgres import run_updates

    written = run_updates.write_run_updates
    changes = [RunUpdate(run, refused(run), None) for run in runs]
    postgres.runner.run(postgres.store.pool.write(lambda session: write_run_updates(session, changes)))
    assert executed == ["lock", "update_runs", "apply_run_updates"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("UPDATE run_attempts SET number = number - 50", "later result only"),
        ("UPDATE run_attempts SET excerpt = repeat('x', 201)", "excerpt"),
        ("UPDATE run_attempts SET slot = 7", "later result only"),
        ("UPDATE run_attempts SET result = 'fine'", "result"),
        ("DELETE FROM run_attempts", "an attempt stays"),
    ],
)
def test_postgres_refuses_what_no_attempt_can_be(postgres, sql, wrong, why):
    run = a_run(State.LAUNCHING, attempt=51)
    define(postgres, None, run)
    assert say(postgres, run, refused(run), attempt=an_attempt(51, at=TODAY * 1000))
    with pytest.raises(psycopg.errors.CheckViolation, match=why):
        sql(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE run_attempts SET number = number - 50",
        "UPDATE run_attempts SET excerpt = printf('%.*c', 201, 'x')",
        "UPDATE run_attempts SET slot = 7",
        "UPDATE run_attempts SET result = 'fine'",
    ],
)
def test_sqlite_refuses_what_no_attempt_can_be(sqlite, folder, wrong):
    run = a_run(State.LAUNCHING, attempt=51)
    define(sqlite, None, run)
    assert say(sqlite, run, refused(run), attempt=an_attempt(51))
    with closing(sqlite3.connect(folder / "kron.db")) as file, pytest.raises(sqlite3.IntegrityError):
        file.execute(wrong)


def test_attempts_of_another_tenant_are_not_visible(postgres, database, clock, runner):
    run = a_run(State.LAUNCHING)
    define(postgres, None, run)
    assert say(postgres, run, refused(run), attempt=an_attempt())
    other = Handle(runner, PostgresStore(database, clock, tenant="other"))
    assert other.attempts([run.key]) == [()]
    other.close()
