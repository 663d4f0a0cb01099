"""The counters of `max_runs` and `pause_on_failure`: every store writes them with the runs that they count."""

import asyncio
from dataclasses import replace

import pytest

from kron import KronError
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.edit import defined, deleted
from kron.rules.outcome import Outcome
from kron.rules.pause import NO_ACTOR, resumed
from kron.rules.plan import plan
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, ScheduleUpdate, update_of
from kron.timing.schedule.policy import Overlap, Policy
from tests.stores.making import NOW, a_case, a_job, a_run, define, now

LIMITED = Policy(overlap=Overlap.ALLOW, deadline=None, max_runs=3)
COUNTING = Policy(overlap=Overlap.ALLOW, deadline=None, pause_on_failure=2)


def a_plan(state, minute, owner="w1"):
    return update_of(plan(state, NOW + minute * 60_000, owner=owner, lease=30_000))


def counted(policy, **state):
    return a_case()._replace(job=a_job(policy=policy), **state)


def end(run, state, wake=NOW):
    failed = {State.FAILED: True, State.SUCCESS: False}.get(state)
    after = run._replace(state=state, outcome=Outcome.EXECUTED, lease=None)
    return RunUpdate(run, after, wake, failed=failed)


def started(store, count, policy=COUNTING):
    """A schedule with so many runs that have started, oldest first."""
    runs = [a_run(State.STARTED, minute, lease=NOW + 10**9) for minute in range(1, count + 1)]
    define(store, counted(policy, cursor=runs[-1].nominal), *runs)
    return runs


def test_runs_are_counted_and_a_stale_plan_is_refused(store):
    define(store, counted(LIMITED))
    read = now(store)
    assert store.commit([a_plan(read, 2)], NOW) == [True]
    assert (now(store).run_count, len(store.runs("a", 9))) == (2, 2)
    assert store.commit([a_plan(read, 3, "w2")], NOW) == [False]
    assert (now(store).run_count, len(store.runs("a", 9))) == (2, 2)
    assert store.commit([a_plan(now(store), 9)], NOW) == [True]
    assert (now(store).run_count, now(store).runs_left, len(store.runs("a", 9))) == (3, 0, 3)


def test_one_batch_with_two_plans_of_one_state_counts_once(store):
    """As two workers that share one round trip: the second finds another count, and another cursor."""
    define(store, counted(LIMITED))
    read = now(store)
    assert store.commit([a_plan(read, 1, "w1"), a_plan(read, 1, "w2")], NOW) == [True, False]
    assert (now(store).run_count, len(store.runs("a", 9))) == (1, 1)


def test_count_is_compared_although_nothing_else_changed(store):
    """The plan records a period ahead of the cursor, and its run has ended: cursor and open runs are as before."""
    define(store, counted(replace(LIMITED, max_runs=1)))
    read = now(store)
    ahead = a_run(State.LAUNCHING, 5, lease=NOW + 30_000)
    update = ScheduleUpdate(read, read._replace(run_count=1), (ahead,))
    assert store.commit([update], NOW) == [True]
    assert store.update_runs([end(ahead, State.SUCCESS)], NOW) == [True]
    assert now(store)._replace(run_count=0, handled_ahead=frozenset(), next_check_at=read.next_check_at) == read
    assert store.commit([a_plan(read, 1)], NOW) == [False]
    assert len(store.runs("a", 9)) == 1


def test_edit_keeps_the_count_and_a_deletion_ends_it(store):
    define(store, counted(LIMITED))
    assert store.commit([a_plan(now(store), 2)], NOW) == [True]
    raised = a_job(policy=replace(LIMITED, max_runs=9))
    assert store.commit([defined(raised, now(store), NOW + 120_000, NO_ACTOR)], NOW) == [True]
    assert (now(store).run_count, now(store).runs_left) == (2, 7)
    assert store.commit([deleted(now(store), NOW + 121_000, NO_ACTOR)], NOW) == [True]
    assert now(store).run_count == 2
    assert store.commit([defined(raised, now(store), NOW + 122_000, NO_ACTOR)], NOW) == [True]
    assert (now(store).run_count, now(store).runs_left) == (0, 9)


def test_failures_in_a_row_are_counted_and_a_success_resets(store):
    runs = started(store, 4)
    for run, state, count in zip(
        runs, (State.FAILED, State.FAILED, State.SUCCESS, State.FAILED), (1, 2, 0, 1), strict=True
    ):
        assert store.update_runs([end(run, state)], NOW) == [True]
        assert now(store).failure_count == count


def test_ends_that_do_not_count_leave_the_count_alone(store):
    runs = started(store, 3)
    ends = (State.FAILED, State.LOST, State.CANCELLED)
    assert store.update_runs([end(run, state) for run, state in zip(runs, ends, strict=True)], NOW) == [True] * 3
    assert now(store).failure_count == 1


@pytest.mark.parametrize(("ends", "count"), [("FFF", 3), ("FSF", 1), ("SFF", 2), ("FFS", 0)])
def test_ends_of_one_batch_count_in_their_order(store, ends, count):
    runs = started(store, 3)
    states = [State.FAILED if letter == "F" else State.SUCCESS for letter in ends]
    changes = [end(run, state) for run, state in zip(runs, states, strict=True)]
    assert store.update_runs(changes, NOW) == [True] * 3
    assert now(store).failure_count == count


def test_fenced_end_does_not_count(store):
    (run,) = started(store, 1)
    stale = end(run._replace(owner="w9"), State.FAILED)
    assert store.update_runs([stale, end(run, State.FAILED), end(run, State.FAILED)], NOW) == [False, True, False]
    assert now(store).failure_count == 1


def test_end_of_an_older_revision_only_wakes_the_schedule(store):
    (run, other) = started(store, 2)
    newer = a_job(policy=replace(COUNTING, pause_on_failure=5))
    assert store.commit([defined(newer, now(store), NOW + 120_000, NO_ACTOR)], NOW) == [True]
    at = now(store).next_check_at
    assert store.update_runs([end(run, State.FAILED, at - 5), end(other, State.FAILED, at - 3)], NOW) == [True] * 2
    assert (now(store).failure_count, now(store).next_check_at) == (0, at - 5)


def test_end_wakes_the_schedule_only_earlier(store):
    runs = started(store, 2)
    before = now(store).next_check_at
    store.update_runs([end(runs[0], State.FAILED, before + 9)], NOW)
    assert now(store).next_check_at == before
    store.update_runs([end(runs[1], State.FAILED, before - 9)], NOW)
    assert now(store).next_check_at == before - 9


def test_pause_is_recorded_and_a_resume_starts_the_count_again(store):
    runs = started(store, 2)
    assert store.update_runs([end(run, State.FAILED) for run in runs], NOW) == [True] * 2
    assert store.commit([a_plan(now(store), 3)], NOW) == [True]
    state = now(store)
    assert (state.paused, state.failure_count, len(store.runs("a", 9))) == (True, 2, 2)
    assert store.actions("a") == [
        ScheduleAction(ActionKind.PAUSED, NOW + 180_000, None, "kron", "2 runs failed in a row")
    ]
    assert store.commit([resumed(state, NOW + 200_000, NO_ACTOR)], NOW) == [True]
    assert (now(store).paused, now(store).failure_count) == (False, 0)


def test_plan_of_a_schedule_that_failed_meanwhile_is_refused(store):
    """The run of a request failed: it leaves neither an open run nor another cursor."""
    define(store, counted(COUNTING))
    read = now(store)
    request = a_run(minute=0, trigger="now")
    assert store.commit([ScheduleUpdate(read, read, (request,))], NOW) == [True]
    claim = request._replace(state=State.LAUNCHING, attempt=1, owner="w1", lease=NOW + 30_000)
    assert store.commit([ScheduleUpdate(now(store), read, (), ((request, claim),))], NOW) == [True]
    accepted = claim._replace(state=State.FAILED, outcome=Outcome.EXECUTED, lease=None)
    assert store.update_runs([RunUpdate(claim, accepted, NOW, failed=True)], NOW) == [True]
    assert (now(store).failure_count, now(store).open_runs, now(store).cursor) == (1, (), read.cursor)
    assert store.commit([a_plan(read, 1)], NOW) == [False]


def test_workers_that_race_count_every_run_once(store):
    """Six workers read, plan and commit at once, over and over. What one of them has read is often stale."""
    define(store, counted(replace(LIMITED, max_runs=20)))
    launched, refused = [], []

    async def work(owner):
        for minute in range(1, 30):
            (state,) = await store.store.get(["a"])
            await asyncio.sleep(0)
            update = a_plan(state, minute, owner)
            (held,) = await store.store.commit([update], NOW)
            (launched if held else refused).extend(update.new)

    async def race():
        await asyncio.gather(*(work(f"w{n}") for n in range(6)))

    store.runner.run(race())
    assert now(store).run_count == len(launched) == len(store.runs("a", 99)) == 20
    assert refused


def test_policy_with_counters_comes_back_equal(store):
    policy = replace(LIMITED, pause_on_failure=7)
    define(store, counted(policy))
    assert now(store).policy == policy


def test_the_number_of_runs_cannot_shrink_in_sqlite(sqlite):
    define(sqlite, counted(LIMITED))
    assert sqlite.commit([a_plan(now(sqlite), 2)], NOW) == [True]
    for query in ("UPDATE schedules SET run_count = 1", "UPDATE schedules SET failure_count = -1"):
        with pytest.raises(Exception, match=r"only grows|CHECK"):
            sqlite.store.file.connection.execute(query)


@pytest.mark.parametrize("query", ["SET run_count = 1", "SET failure_count = -1"])
def test_the_number_of_runs_cannot_shrink_in_postgres(postgres, sql, query):
    define(postgres, counted(LIMITED))
    assert postgres.commit([a_plan(now(postgres), 2)], NOW) == [True]
    with pytest.raises(Exception, match=r"only goes forward|check"):
        sql(f"UPDATE kron.schedule_state {query}")


def test_ordinary_runs_need_no_further_statement(postgres, monkeypatch):
    """A batch with a schedule that counts, and one that does not."""
    (run,) = started(postgres, 1)
    other = a_run(State.STARTED, 1, identity="b", lease=NOW + 10**9)
    define(postgres, a_case("b"), other)
    executed = []
    execute = None

    async def written(session, changes):
        nonlocal execute
        execute = type(session).execute

        async def listed(self, query, **values):
            executed.append(query)
            return await execute(self, query, **values)

        monkeypatch.setattr(type(session), "execute", listed)
        return await run_updates.write_run_updates(session, changes)

    from kron.stores.postgres import run_updates

    def write(*changes):
        executed.clear()
        assert all(postgres.runner.run(postgres.store.pool.write(lambda session: written(session, changes))))
        monkeypatch.setattr("kron.stores.postgres.pool.Session.execute", execute)
        return list(executed)

    heartbeat = other._replace(lease=NOW + 2 * 10**9)
    assert write(RunUpdate(other, heartbeat, None)) == ["lock", "update_runs", "apply_run_updates"]
    assert write(end(run, State.FAILED), RunUpdate(heartbeat, heartbeat._replace(lease=NOW + 9), None)) == [
        *("lock", "update_runs", "apply_run_updates", "apply_counted_run_updates", "count_outcomes"),
    ]


def test_corrupt_counters_are_named(sqlite):
    define(sqlite, counted(LIMITED))
    sqlite.store.file.connection.execute("PRAGMA ignore_check_constraints = 1")
    sqlite.store.file.connection.execute("UPDATE schedules SET run_count = 'many'")
    with pytest.raises(KronError, match="run_count"):
        now(sqlite)
