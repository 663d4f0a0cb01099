"""A change is written while its attempt still has its token; it ends or goes on with an attempt, and starts none."""

import pytest

from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.rules.update import RunUpdate
from kron.timing.schedule.policy import Overlap
from tests.stores.making import ALL, NOW, SECONDS, a_case, a_run, define, now, say, view, write


def accepted(run):
    return run._replace(state=State.ENQUEUED, outcome=Outcome.EXECUTED, lease=NOW + 60_000)


def test_an_answer_is_recorded_once(store):
    case = define(store, None, a_run(State.LAUNCHING))
    (run,) = case.open_runs
    assert say(store, run, accepted(run))
    assert now(store).open_runs == (accepted(run),)
    before = view(store)
    assert not say(store, run, accepted(run))
    assert not say(store, run, run._replace(state=State.RETRY, not_before=NOW + 5))
    assert view(store) == before


@pytest.mark.parametrize("other", [{"state": State.RETRY}, {"attempt": 2}, {"owner": "w2"}], ids=str)
def test_an_attempt_that_was_superseded_has_no_say(store, other):
    run = a_run(State.LAUNCHING)
    define(store, None, run._replace(**other))
    before = view(store)
    assert not say(store, run, accepted(run), NOW - 5)
    assert view(store) == before  # nor does it wake anybody


def test_nobody_speaks_of_a_run_that_is_not_there(store):
    run = a_run(State.LAUNCHING)
    assert not say(store, run, accepted(run))
    define(store)
    assert not say(store, run, accepted(run))


@pytest.mark.req("KSPEC-OUTC-NOMORE")
def test_what_has_ended_stays(store):
    run = a_run(State.SUCCESS)
    define(store, None, run)
    assert not say(store, run, run._replace(state=State.FAILED))
    assert not say(store, run, run._replace(changed=NOW + 1))


def test_it_only_moves_forward(store):
    run = a_run(State.STARTED)
    define(store, None, run)
    assert not say(store, run, run._replace(state=State.ENQUEUED))
    assert not say(store, run, run._replace(state=State.FAILED, outcome=Outcome.MISSED))
    assert not say(store, run, run._replace(attempt=0, state=State.SUCCESS))
    assert not say(store, run, run._replace(state=State.SUCCESS, outcome=None))
    assert say(store, run, run._replace(state=State.SUCCESS))


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("state", [State.PENDING, State.WAITING])
def test_it_starts_nothing(store, overlap, state):
    """To start is to settle, since only there is the overlap looked at."""
    run = a_run(state)
    define(store, a_case(overlap=overlap), run)
    assert not say(store, run, run._replace(state=State.LAUNCHING, attempt=run.attempt + 1, owner="w2"))


def test_a_run_may_fail_and_wait(store):
    run = a_run(State.STARTED)
    define(store, None, run)
    waiting = run._replace(state=State.WAITING, not_before=NOW + 60_000, lease=None)
    assert say(store, run, waiting, waiting.not_before)
    assert now(store).open_runs == (waiting,)


@pytest.mark.parametrize(
    ("stood", "asked", "stands"),
    [(NOW, NOW - 5, NOW - 5), (NOW, NOW + 5, NOW), (NOW, NOW, NOW), (NOW, None, NOW), (None, NOW, NOW)],
)
def test_it_wakes_a_schedule_earlier_and_never_later(store, stood, asked, stands):
    define(store, a_case(next_check_at=stood), a_run(State.LAUNCHING))
    (run,) = now(store).open_runs
    assert say(store, run, accepted(run), asked)
    assert now(store).next_check_at == stands
    assert store.wake(ALL) == stands
    assert [case.identity for case in store.fetch_due(ALL, NOW * 2, 10)] == ["a"]


def test_nothing_else_of_its_schedule_changes(store):
    case = define(store, None, a_run(State.LAUNCHING), a_run(minute=2))
    run, other = case.open_runs
    assert say(store, run, run._replace(state=State.FAILED, outcome=Outcome.MISSED), NOW - 1)
    assert now(store) == case._replace(open_runs=(other,), next_check_at=NOW - 1)


def test_the_runs_of_a_paused_and_of_a_deleted_schedule_are_still_spoken_of(store):
    case = define(store, a_case(overlap=Overlap.ALLOW), a_run(State.LAUNCHING), a_run(State.LAUNCHING, 2))
    assert write(store, case, paused=True)
    assert say(store, case.open_runs[0], accepted(case.open_runs[0]))
    assert write(store, now(store), deleted=True)
    assert say(store, case.open_runs[1], accepted(case.open_runs[1]))


def test_each_change_of_a_batch_stands_alone(store):
    define(store, a_case(overlap=Overlap.ALLOW), a_run(State.LAUNCHING), a_run(State.LAUNCHING, 2))
    define(store, a_case("b"), a_run(State.LAUNCHING, identity="b"))
    one, two = now(store).open_runs
    (three,) = now(store, "b").open_runs
    stale = two._replace(owner="w9")
    changes = [RunUpdate(run, accepted(run), None) for run in (one, stale, three, one)]
    assert store.update_runs(changes, NOW) == [True, False, True, False]
    assert [run.state for run in store.runs_by_key([one.key, two.key, three.key])] == [
        "enqueued",
        "launching",
        "enqueued",
    ]
    assert store.update_runs([], NOW) == []


def test_the_cursor_is_none_of_its_business(store):
    case = define(store, None, a_run(State.LAUNCHING))
    (run,) = case.open_runs
    assert write(store, case, cursor=SECONDS + 600)
    assert say(store, run, accepted(run))
    assert now(store).cursor == SECONDS + 600
