"""A settlement is written as a whole or not at all, and each of its conditions alone can refuse it."""

from dataclasses import replace

import pytest

from kron.rules.outcome import Outcome
from kron.rules.run_state import ACTIVE, OPEN, State
from kron.rules.update import ScheduleUpdate
from kron.timing.job import Command
from kron.timing.schedule.policy import SECOND, SERVICE, Overlap
from tests.stores.making import (
    ALL,
    MANY,
    NOW,
    SECONDS,
    a_case,
    a_gap,
    a_job,
    a_revision,
    a_run,
    define,
    now,
    view,
    write,
)

EXCLUSIVE = [overlap for overlap in Overlap if overlap is not Overlap.ALLOW]
RANK = {State.PENDING: 0, State.LAUNCHING: 1, State.RETRY: 1, State.ENQUEUED: 2, State.STARTED: 3, State.WAITING: 4}


def test_a_schedule_is_created_once(store):
    case = define(store)
    assert case == a_case()
    assert store.commit([ScheduleUpdate(None, a_case(), revision=a_revision(a_case()))], NOW) == [False]


def test_a_schedule_that_was_never_created_cannot_be_changed(store):
    assert not write(store, a_case(), cursor=SECONDS + 60)
    assert store.get(["a"]) == [None]


@pytest.mark.parametrize(
    "stale",
    [{"revision": 2}, {"cursor": SECONDS - 60}, {"effective_from": NOW - 1}, {"paused": True}, {"deleted": True}],
    ids=str,
)
def test_a_schedule_that_is_not_as_it_was_read_is_not_changed(store, stale):
    case = define(store)
    before = view(store)
    after = case._replace(cursor=SECONDS + 60)
    assert store.commit([ScheduleUpdate(case._replace(**stale), after, (a_run(),))], NOW) == [False]
    assert view(store) == before


def test_the_second_of_two_who_read_the_same_is_refused(store):
    case = define(store)
    assert write(store, case, a_run(), cursor=SECONDS + 60, next_check_at=NOW + 60_000)
    before = view(store)
    assert not write(store, case, a_run(minute=2), cursor=SECONDS + 120)
    assert view(store) == before


def test_a_pause_stops_a_plan_that_was_made_before_it(store):
    case = define(store)
    assert write(store, case, paused=True)
    assert not write(store, case, a_run(), cursor=SECONDS + 60)


def test_an_edit_stops_a_plan_that_was_made_before_it(store):
    case = define(store)
    assert write(store, case, job=a_job(text="*/5 * * * *"), revision=2)
    assert not write(store, case, a_run(), cursor=SECONDS + 60)


def test_a_run_that_the_plan_has_not_seen_stops_it(store):
    """A manual run moves neither revision nor cursor; a plan that overlooked it would sleep past it."""
    case = define(store)
    assert write(store, case, a_run(trigger="by hand"), next_check_at=NOW)
    assert not write(store, case, next_check_at=NOW + 3_600_000)
    assert store.wake(ALL) == NOW


def test_a_run_that_ended_since_it_was_read_stops_the_plan(store):
    """What waits for its end would otherwise be woken when its lease is over, and not before."""
    case = define(store, None, a_run(State.STARTED), a_run(minute=2))
    ended = case.open_runs[0]._replace(state=State.SUCCESS)
    assert write(store, case, changed=[(case.open_runs[0], ended)])
    assert not write(store, case, next_check_at=NOW + 3_600_000)


def test_settle_refuses_a_plan_that_has_not_seen_a_heartbeat(store):
    case = define(store, None, a_run(State.STARTED))
    longer = case.open_runs[0]._replace(lease=NOW + 60_000, changed=NOW + 1)
    assert write(store, case, changed=[(case.open_runs[0], longer)])
    assert not write(store, case, cursor=SECONDS + 60)
    assert now(store).open_runs == (longer,)


def test_settle_refuses_to_end_a_pause_that_was_extended(store):
    case = define(store, a_case(paused=True, paused_until=NOW + 1_000))
    assert write(store, case, paused_until=NOW + 9_000)
    assert not write(store, case, paused=False, paused_until=None)
    assert now(store).paused_until == NOW + 9_000


@pytest.mark.req("KSPEC-OUTC-ONCE", "KSPEC-OUTC-NOMORE")
def test_a_key_is_recorded_once(store):
    case = define(store, None, a_run(State.SKIPPED))
    before = view(store)
    assert not write(store, case, a_run(minute=2), a_run(), cursor=SECONDS + 120, next_check_at=NOW + 1)
    assert view(store) == before  # the other run was not written either


def test_a_key_stays_taken_when_its_schedule_is_deleted_and_made_again(store):
    case = define(store, None, a_run(State.SKIPPED))
    assert write(store, case, deleted=True)
    tombstone = now(store)
    again = a_case(revision=2)
    assert store.commit([ScheduleUpdate(None, again, revision=a_revision(again))], NOW) == [False]
    assert store.commit([ScheduleUpdate(tombstone, again, revision=a_revision(again))], NOW) == [True]
    assert now(store) == again._replace(handled_ahead=frozenset({SECONDS + 60}))
    assert not write(store, now(store), a_run(), cursor=SECONDS + 60)
    assert [revision.number for revision in store.revisions("a")] == [1, 2]


@pytest.mark.parametrize("other", [{"state": State.RETRY}, {"attempt": 2}, {"owner": "w2"}], ids=str)
def test_a_run_with_another_token_is_not_changed(store, other):
    read = a_run(State.LAUNCHING)
    case = define(store, None, read._replace(**other))
    before, after = view(store), read._replace(attempt=3)
    assert not write(store, case._replace(open_runs=(read,)), changed=[(read, after)])
    assert not write(store, case, changed=[(read, after)])
    assert view(store) == before


def test_a_run_that_is_not_there_is_not_changed(store):
    case = define(store)
    run = a_run(State.LAUNCHING)
    assert not write(store, case, changed=[(run, run._replace(state=State.RETRY))])
    assert not write(store, case._replace(open_runs=(run,)), changed=[(run, run._replace(state=State.RETRY))])


@pytest.mark.req("KSPEC-SM-MONO")
@pytest.mark.parametrize("state", State)
def test_a_run_moves_forward_only(store, state):
    """From that state to every other, by the attempt before, by the same, and by the next."""
    for after in State:
        for attempt in (2, 3, 4):
            name = f"{after} by attempt {attempt}"
            before = a_run(state, attempt=3, owner="w1", identity=name)
            case = define(store, a_case(name), before)
            moved = before._replace(state=after, attempt=attempt, outcome=before.outcome or a_run(after).outcome)
            forward = attempt > 3 or after not in OPEN or (attempt == 3 and RANK[after] >= RANK.get(state, 0))
            lawful = state in OPEN and attempt >= 3 and forward
            assert write(store, case, changed=[(before, moved)]) == lawful, name
            assert store.runs_by_key([before.key]) == [moved if lawful else before]


@pytest.mark.req("KSPEC-OUTC-ONCE")
def test_a_verdict_is_given_once(store):
    run = a_run(State.STARTED)
    case = define(store, None, run)
    for verdict in (None, Outcome.MISSED):
        assert not write(store, case, changed=[(run, run._replace(state=State.FAILED, outcome=verdict))])
    assert write(store, case, changed=[(run, run._replace(state=State.FAILED))])


@pytest.mark.parametrize("state", State)
def test_a_run_that_cannot_be_is_not_recorded(store, state):
    """Nothing is sent without an attempt, and nothing runs or has ended without a verdict."""
    case = define(store, None, a_run(minute=9))
    bare = a_run(state, attempt=0, outcome=None)
    assert write(store, case, bare) == (state is State.PENDING)
    if state is not State.PENDING:
        assert not write(store, case, changed=[(case.open_runs[0], case.open_runs[0]._replace(state=state))])


@pytest.mark.parametrize("overlap", Overlap)
class TestOverlap:
    """Under every policy but one, no run starts beside another that may be running."""

    @pytest.mark.parametrize("going", sorted(ACTIVE))
    def test_a_new_run_beside_one_that_may_be_running(self, store, overlap, going):
        case = define(store, a_case(overlap=overlap), a_run(going))
        held = write(store, case, a_run(State.LAUNCHING, 2), cursor=SECONDS + 120)
        assert held == (overlap is Overlap.ALLOW)
        assert len(store.runs("a", MANY)) == 1 + held

    @pytest.mark.parametrize("waiting", [State.PENDING, State.WAITING])
    def test_one_that_waited(self, store, overlap, waiting):
        case = define(store, a_case(overlap=overlap), a_run(State.RETRY), a_run(waiting, 2))
        run = case.open_runs[1]
        started = run._replace(state=State.LAUNCHING, attempt=run.attempt + 1, owner="w2")
        assert write(store, case, changed=[(run, started)]) == (overlap is Overlap.ALLOW)

    def test_two_at_once(self, store, overlap):
        case = define(store, a_case(overlap=overlap))
        held = write(store, case, a_run(State.LAUNCHING), a_run(State.LAUNCHING, 2), cursor=SECONDS + 120)
        assert held == (overlap is Overlap.ALLOW)

    def test_one_that_waits_beside_it(self, store, overlap):
        case = define(store, a_case(overlap=overlap), a_run(State.STARTED))
        assert write(store, case, a_run(minute=2), a_run(State.SKIPPED, 3), cursor=SECONDS + 180)

    @pytest.mark.parametrize("first", [True, False])
    def test_one_takes_the_place_of_another(self, store, overlap, first):
        case = define(store, a_case(overlap=overlap), a_run(State.STARTED), a_run(minute=2))
        old, young = case.open_runs
        ended = (old, old._replace(state=State.CANCELLED))
        started = (young, young._replace(state=State.LAUNCHING, attempt=1, owner="w2"))
        assert write(store, case, changed=[ended, started] if first else [started, ended])

    def test_the_next_attempt_of_the_same(self, store, overlap):
        case = define(store, a_case(overlap=overlap), a_run(State.RETRY))
        (run,) = case.open_runs
        again = run._replace(
            state=State.LAUNCHING, attempt=2, owner="w2", lease=NOW + 5, not_before=1, maybe_delivered=True
        )
        assert write(store, case, changed=[(run, again)])
        assert store.runs_by_key([run.key]) == [again]


@pytest.mark.parametrize("overlap", EXCLUSIVE)
def test_a_policy_may_become_stricter_while_several_run(store, overlap):
    """They may end, one after the other; none may start."""
    case = define(store, a_case(overlap=Overlap.ALLOW), a_run(State.STARTED), a_run(State.RETRY, 2), a_run(minute=3))
    assert write(store, case, job=a_job(overlap=overlap), revision=2)
    case = now(store)
    started, retried, pending = case.open_runs
    begun = pending._replace(state=State.LAUNCHING, attempt=1, owner="w2")
    assert not write(store, case, changed=[(pending, begun)])
    assert write(store, case, changed=[(retried, retried._replace(state=State.LAUNCHING, attempt=2, owner="w2"))])
    case = now(store)
    assert write(store, case, changed=[(started, started._replace(state=State.LOST))])
    case = now(store)
    assert not write(store, case, changed=[(pending, begun)])
    assert write(store, case, changed=[(case.open_runs[0], case.open_runs[0]._replace(state=State.LAUNCHING))])
    case = now(store)
    ended = case.open_runs[0]._replace(state=State.UNKNOWN, outcome=Outcome.EXECUTED)
    assert write(store, case, changed=[(case.open_runs[0], ended), (pending, begun)])


@pytest.mark.parametrize(
    "back",
    [
        {"cursor": SECONDS - 1},
        {"revision": 1},
        {"job": a_job(text="*/7 * * * *")},
        {"job": a_job(end=SECONDS)},
        {"job": a_job(overlap=Overlap.QUEUE)},
    ],
    ids=["cursor", "revision", "schedule", "end", "policy"],
)
def test_nothing_goes_back_and_no_definition_changes_under_its_number(store, back):
    case = define(store, a_case(revision=2))
    before = view(store)
    assert store.commit([ScheduleUpdate(case, case._replace(**back))], NOW) == [False]
    assert view(store) == before


def test_a_revision_bears_the_number_of_its_definition(store):
    case = define(store)
    after = case._replace(job=a_job(text="*/7 * * * *"), revision=2)
    assert store.commit([ScheduleUpdate(case, after, revision=a_revision(case))], NOW) == [False]
    assert store.commit([ScheduleUpdate(case, case, revision=a_revision(case))], NOW) == [False]
    assert store.commit([ScheduleUpdate(case, after, revision=a_revision(after))], NOW) == [True]


@pytest.mark.parametrize("gap", [a_gap(0, 3, 4), a_gap(2, 5, 4), a_gap(-3, -1, 3)], ids=lambda gap: str(gap.first))
def test_a_gap_lies_between_the_old_cursor_and_the_new(store, gap):
    case = define(store)
    assert not write(store, case, gap=gap, cursor=SECONDS + 240)
    assert store.gaps("a") == []


def test_all_of_a_settlement_is_written(store):
    case = define(store, None, a_run(State.LAUNCHING), a_run(minute=2))
    running, waiting = case.open_runs
    ended, begun = running._replace(state=State.FAILED, outcome=Outcome.MISSED), waiting._replace(not_before=NOW + 5)
    fresh, gap = a_run(State.LAUNCHING, 9), a_gap(3, 8, 6)
    job = a_job(text="*/2 * * * *", name="n", description="d", start=1, end=SECONDS * 2)
    after = case._replace(
        job=job, revision=2, cursor=SECONDS + 540, effective_from=NOW + 7, paused=True, next_check_at=NOW + 9
    )
    settlement = ScheduleUpdate(
        case, after, (fresh,), ((running, ended), (waiting, begun)), gap, a_revision(after, note="why")
    )
    assert store.commit([settlement], NOW) == [True]
    assert now(store) == after._replace(open_runs=(begun, fresh), handled_ahead=frozenset(), former={1: case.job})
    assert store.runs("a", MANY) == [fresh, begun, ended]
    assert store.gaps("a") == [gap]
    assert store.revisions("a")[1:] == [a_revision(after, note="why")]


def test_each_settlement_of_a_batch_stands_alone(store):
    a, b = define(store), define(store, a_case("b"))
    stale = ScheduleUpdate(b._replace(cursor=0), b._replace(cursor=SECONDS + 60))
    first = ScheduleUpdate(a, a._replace(cursor=SECONDS + 60), (a_run(),))
    again = ScheduleUpdate(a, a._replace(cursor=SECONDS + 120), (a_run(minute=2),))
    other = ScheduleUpdate(b, b._replace(cursor=SECONDS + 180))
    assert store.commit([stale, first, again, other], NOW) == [False, True, False, True]
    assert [case.cursor for case in store.get(["a", "b"])] == [SECONDS + 60, SECONDS + 180]
    assert store.commit([], NOW) == []


@pytest.mark.parametrize("lost", [(), ("b",), ("a", "b", "c")])
def test_what_was_prepared_holds_as_if_it_had_not_been(store, lost):
    cases = [define(store, a_case(name)) for name in "cab"]
    runs = {case.identity: a_run(State.LAUNCHING, identity=case.identity) for case in cases}
    wanted = [
        ScheduleUpdate(c, c._replace(cursor=SECONDS + 60, next_check_at=NOW + 1), (runs[c.identity],)) for c in cases
    ]
    ready = store.store.prepare(wanted)
    assert list(ready) == wanted
    for name in lost:
        assert write(store, now(store, name), effective_from=NOW + 5)
    assert store.commit(ready, NOW) == [name not in lost for name in "cab"]
    for name in "cab":
        assert store.runs(name, MANY) == ([] if name in lost else [runs[name]])
    assert store.commit(ready, NOW) == [False] * 3


def test_a_schedule_may_be_told_never_to_wake(store):
    case = define(store)
    assert write(store, case, next_check_at=None)
    assert now(store).next_check_at is None
    assert write(store, now(store), next_check_at=NOW + 5)
    assert now(store).next_check_at == NOW + 5


def test_together_all_are_written_or_none(store):
    a, b = define(store), define(store, a_case("b"))
    c = a_case("c")
    first = ScheduleUpdate(a, a._replace(cursor=SECONDS + 60), (a_run(),))
    new = ScheduleUpdate(None, c, revision=a_revision(c))
    stale = ScheduleUpdate(b._replace(cursor=0), b._replace(cursor=SECONDS + 60))
    before = view(store)
    assert store.commit([first, new, stale], NOW, together=True) == [False, False, False]
    assert view(store) == before
    assert store.get(["c"]) == [None]
    good = ScheduleUpdate(b, b._replace(cursor=SECONDS + 60))
    assert store.commit([first, new, good], NOW, together=True) == [True, True, True]
    assert [case.cursor for case in store.get(["a", "b"])] == [SECONDS + 60] * 2
    assert store.commit([], NOW, together=True) == []


def test_when_an_attempt_was_claimed_is_kept(store):
    case = define(store)
    assert write(store, case, a_run(State.LAUNCHING)._replace(sent=NOW + 7), cursor=SECONDS + 60)
    (run,) = store.runs("a", 1)
    assert run.sent == NOW + 7


def test_revision_keeps_the_complete_definition(store):
    """Policy, target, command, validity and texts of an older revision are still there after an edit."""
    policy = replace(SERVICE, jitter=90 * SECOND, deadline=None)
    command = Command("true", env=(("A", "b"),))
    first = a_job("a", policy=policy, name="n", description="d", command=command, start=5, end=SECONDS * 2)
    case = a_case()._replace(job=first)
    before = define(store, case)
    assert write(store, before, job=a_job("a", "0 0 * * *"), revision=2)
    assert [revision.job for revision in store.revisions("a")] == [first, a_job("a", "0 0 * * *")]


def test_commit_rejects_a_revision_of_another_definition(store):
    before = define(store)
    after = before._replace(job=a_job("a", "0 0 * * *"), revision=2)
    other = replace(a_revision(after), job=a_job("a", "0 1 * * *"))
    assert store.commit([ScheduleUpdate(before, after, revision=other)], NOW) == [False]


@pytest.mark.parametrize("owed", [None, frozenset(), frozenset({SECONDS - 60, SECONDS - 120})])
def test_commit_keeps_the_periods_that_a_revision_took_over(store, owed):
    before = define(store)
    assert write(store, before, revision=2, owed=owed)
    assert now(store).owed == owed
