"""`max_runs`: after so many scheduled runs, the schedule has no more periods."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.rules.edit import created, defined, deleted
from kron.rules.outcome import Reason
from kron.rules.pause import NO_ACTOR, paused, resumed
from kron.rules.plan import plan
from kron.rules.run import ended, trigger_of
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.upcoming import next_period, no_upcoming_reason, upcoming
from kron.rules.update import can_commit, is_simple_insert, update_of
from kron.timing.job import Job
from kron.timing.schedule.policy import DECLARATIVE, KRON, MINUTE, SERVICE, Catchup, Overlap, Policy
from tests.stores.making import NOW, SECONDS, a_case, a_job, a_run

RELAXED = replace(KRON, deadline=None, overlap=Overlap.ALLOW)
WINDOWED = parse("* * * * * @win(around,5m)", dialect="kron")


def limited(max_runs, policy=RELAXED, **state):
    return a_case()._replace(job=a_job(policy=replace(policy, max_runs=max_runs)), **state)


def at(minute):
    return NOW + minute * 60_000


def after(state, now):
    """The state after a plan is committed, as a store gives it back; and the plan."""
    made = plan(state, now, owner="w", lease=30_000)
    update = update_of(made)
    assert can_commit(update, state, ())
    runs = {run.key: run for run in state.open_runs} | {run.key: run for _, run in made.changed}
    runs |= {run.key: run for run in made.new}
    ahead = {run.nominal for run in made.new if not run.trigger} | state.handled_ahead
    stored = update.after._replace(
        open_runs=tuple(run for run in runs.values() if run.open),
        handled_ahead=frozenset(n for n in ahead if n > update.after.cursor),
    )
    return stored, made


def minutes(runs):
    return [(run.nominal - SECONDS) // 60 for run in runs]


def test_schedule_is_over_after_its_runs():
    state = limited(2)
    for minute in (1, 2):
        state, made = after(state, at(minute))
        assert minutes(made.launches) == [minute]
        state = state._replace(open_runs=())
    assert (state.run_count, state.runs_left, next_period(state)) == (2, 0, None)
    later = plan(state, at(3), owner="w", lease=30_000)
    assert later.empty
    assert later.next_check_at is None
    assert upcoming(state, at(3), 5) == []
    assert no_upcoming_reason(state, at(3)) == "the schedule has had its 2 runs"


def test_reason_after_a_single_run_is_a_sentence():
    assert no_upcoming_reason(limited(1, run_count=1), NOW) == "the schedule has had its 1 run"


def test_last_run_stays_under_control_until_it_ends():
    state, _ = after(limited(1), at(1))
    (run,) = state.open_runs
    assert state.next_check_at == run.lease


def test_upcoming_runs_are_only_those_that_are_left():
    state = limited(5, run_count=2)
    assert len(upcoming(state, NOW, 10)) == 3
    assert len(upcoming(state, NOW, 2)) == 2
    assert next_period(state) == SECONDS + 60


@pytest.mark.parametrize(
    ("overlap", "recorded", "count"),
    [
        (Overlap.ALLOW, {1: "launching", 2: "launching"}, 2),
        (Overlap.QUEUE, {1: "launching", 2: "pending"}, 2),
        (Overlap.SKIP, {1: "launching", 2: "skipped", 3: "skipped", 4: "skipped"}, 1),
        (Overlap.REPLACE, {1: "skipped", 2: "skipped", 3: "skipped", 4: "launching"}, 1),
        (Overlap.COALESCE, {1: "missed", 2: "missed", 3: "missed", 4: "launching"}, 1),
    ],
)
def test_runs_to_be_launched_count_and_others_do_not(overlap, recorded, count):
    """Four periods are due together, and two runs are left."""
    state, made = after(limited(2, replace(RELAXED, overlap=overlap, catchup=Catchup.ALL)), at(4))
    assert {(run.nominal - SECONDS) // 60: run.state.value for run in made.new} == recorded
    assert state.run_count == count


def test_periods_after_the_last_run_get_no_record():
    """The first of them starts, which was the last run. The others would be skipped, but the schedule is over."""
    state, made = after(limited(1, replace(RELAXED, overlap=Overlap.SKIP, catchup=Catchup.ALL)), at(4))
    assert minutes(made.new) == [1]
    assert (state.cursor, state.next_check_at) == (SECONDS + 60, made.new[0].lease)


def test_missed_periods_do_not_count():
    policy = replace(KRON, catchup=Catchup.NONE, deadline=None, overlap=Overlap.ALLOW)
    state, made = after(limited(2, policy), at(4))
    assert [run.reason for run in made.new][:3] == [Reason.CATCHUP_NONE] * 3
    assert state.run_count == len(made.launches) == 1


def test_requested_runs_and_retries_do_not_count():
    requests = tuple(a_run(minute=0, trigger=name, due=NOW) for name in ("now", trigger_of("backfill", "x")))
    retry = a_run(State.RETRY, 0, not_before=NOW)
    state, made = after(limited(1, open_runs=(*requests, retry)), NOW + 1)
    assert {run.trigger for run in made.launches} >= {"now", ""}
    assert state.run_count == 0


def test_run_that_is_recorded_but_never_launched_stays_counted():
    """It waits in a queue, and is given up there: the count belongs to the record."""
    state, _ = after(limited(2, replace(RELAXED, overlap=Overlap.QUEUE), open_runs=(a_run(State.STARTED, 0),)), at(1))
    waiting = next(run for run in state.open_runs if run.state is State.PENDING)
    gone = state._replace(open_runs=(ended(waiting, State.SKIPPED, at(1)),))
    assert gone.run_count == 1


def test_window_order_does_not_strand_a_run():
    """The chosen times of two periods are in another order than the periods: the one that runs first is the one."""
    job = Job("a", replace(WINDOWED, policy=replace(RELAXED, overlap=Overlap.COALESCE, max_runs=1)), target="test:it")
    state = ScheduleState(job, 1, SECONDS - 600, NOW - 600_000)
    state, made = after(state, NOW)
    assert len(made.launches) == 1
    assert state.run_count == 1
    assert not [run for run in state.open_runs if run.state is State.PENDING]


POLICIES = st.builds(
    replace,
    st.sampled_from([KRON, SERVICE, DECLARATIVE, Policy(deadline=5 * MINUTE)]),
    overlap=st.sampled_from(Overlap),
    catchup=st.sampled_from(Catchup),
    catchup_limit=st.sampled_from([1, 3, 100]),
    queue_limit=st.sampled_from([1, 100]),
)


@given(POLICIES, st.integers(1, 6), st.lists(st.tuples(st.integers(1, 900), st.booleans()), max_size=12), st.booleans())
@settings(max_examples=200, deadline=None)
def test_count_is_that_of_the_runs_and_never_too_large(policy, max_runs, steps, windowed):
    """Whatever the policy, and however late the passes are. `ends` says whether open runs end between two passes."""
    schedule = WINDOWED if windowed else parse("* * * * *", dialect="kron")
    job = Job("a", replace(schedule, policy=replace(policy, max_runs=max_runs)), target="test:it")
    state, now, counted, last = ScheduleState(job, 1, SECONDS, NOW), NOW, 0, 0
    for seconds, ends in steps:
        now += seconds * 1000
        was_over = state.runs_left == 0
        state, made = after(state, now)
        counted += sum(run.open for run in made.new if not run.trigger)
        assert not (was_over and (made.new or made.gap))
        assert state.run_count == counted <= max_runs
        last = max([last, *(run.nominal for run in made.new)])
        if ends:
            state = state._replace(open_runs=())


def edit(state, now, **axes):
    job = replace(state.job, schedule=replace(state.job.schedule, policy=replace(state.policy, **axes)))
    update = defined(job, state, now, NO_ACTOR)
    assert can_commit(update, state, ())
    return update


def test_edit_keeps_the_count_and_a_larger_maximum_continues():
    state = limited(3, run_count=3)
    raised = edit(state, at(5), max_runs=5).after
    assert (raised.run_count, raised.runs_left, raised.next_check_at) == (3, 2, at(5))
    assert [due.nominal for due in upcoming(raised, at(5), 9)] == [SECONDS + 360, SECONDS + 420]
    assert edit(state, at(5), queue_limit=7).after.runs_left == 0
    assert edit(state, at(5), max_runs=2).after.runs_left == 0


def test_edit_counts_the_runs_that_it_records():
    """Two periods are due at the edit, and one run is left: it is recorded under the old definition, and counts."""
    update = edit(limited(3, replace(RELAXED, catchup=Catchup.ALL), run_count=2), at(2), max_runs=9)
    assert minutes(update.new) == [1]
    assert update.after.run_count == 3


def test_count_stays_while_a_definition_has_no_maximum():
    without = edit(limited(3, run_count=3), at(5), max_runs=None).after
    assert (without.run_count, without.runs_left) == (3, None)
    unlimited, made = after(without, at(6))
    assert (len(made.launches), unlimited.run_count) == (1, 3)


def test_schedule_that_is_deleted_and_defined_again_starts_at_0():
    tombstone = deleted(limited(3, run_count=3), at(1), NO_ACTOR).after
    update = created(tombstone.job, tombstone, at(2), NO_ACTOR)
    assert can_commit(update, tombstone, ())
    assert update.after.run_count == 0


def test_pause_of_a_schedule_that_is_over_leaves_no_gap():
    state = limited(1, replace(SERVICE, overlap=Overlap.ALLOW), run_count=1)
    resting = paused(state, at(1), None, NO_ACTOR).after
    assert resumed(resting, at(9), NO_ACTOR).gap is None


@pytest.mark.parametrize("count", [0, 2])
def test_update_with_a_wrong_count_is_rejected(count):
    state = limited(5)
    update = update_of(plan(state, at(1), owner="w", lease=30_000))
    assert update.after.run_count == 1
    wrong = update._replace(after=update.after._replace(run_count=count))
    assert not can_commit(wrong, state, ())


def test_plan_of_a_state_with_another_count_is_rejected():
    state = limited(5)
    update = update_of(plan(state, at(1), owner="w", lease=30_000))
    assert not can_commit(update, state._replace(run_count=1), ())


def test_update_with_counters_is_not_a_simple_insert():
    update = update_of(plan(limited(5), at(1), owner="w", lease=30_000))
    assert not is_simple_insert(update)
    assert is_simple_insert(update_of(plan(a_case(), at(1), owner="w", lease=30_000)))


@pytest.mark.parametrize("run_count", [0, 1, 2])
def test_deletion_records_every_due_period_unless_the_schedule_was_over(run_count):
    """None of them is launched, so that none uses up the maximum."""
    state = limited(2, run_count=run_count)
    update = deleted(state, at(5), NO_ACTOR)
    assert can_commit(update, state, ())
    expected = [] if run_count == 2 else [(State.SKIPPED, Reason.DELETED)] * 5
    assert [(run.state, run.reason) for run in update.new] == expected
    assert update.after.run_count == run_count
