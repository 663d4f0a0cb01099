"""Who requested a run, and why: kept on every store, apart from the changes of the schedule, and as long as runs."""

import pytest

from kron.engine.bulk import redrive_all, trigger_all
from kron.engine.registrar import Actor, Registrar
from kron.engine.why import why
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.timing.schedule.policy import SERVICE
from tests.stores.making import NOW, a_job, a_run, now
from tests.stores.test_retention import DAY, LONG_AGO, TODAY

ANN = Actor("ann", "the customer asked")


@pytest.fixture
def registrar(store, runner):
    """The registrar of a store with one schedule."""
    registrar = Registrar(store.store)
    runner.run(registrar.upsert(a_job(policy=SERVICE)))
    return registrar


def activity(store):
    return [each.change for each in store.runner.run(store.store.overview.activity("", 50)) if each.is_action]


def test_each_request_is_recorded_once_with_who_and_why(store, runner, registrar):
    state, dead = now(store), a_run(State.FAILED, 1)
    assert store.commit([ScheduleUpdate(state, state, (dead,))], NOW) == [True]
    for _ in range(2):  # a repeated request is the same request
        runner.run(registrar.trigger("a", "once", ANN))
        runner.run(registrar.backfill("a", NOW // 1000 - 600, NOW // 1000 - 300, "gap", actor=ANN))
        runner.run(registrar.redrive(dead.key, actor=ANN))
    kinds = [ActionKind.TRIGGERED, ActionKind.BACKFILLED, ActionKind.REDRIVEN]
    recorded = [action for action in activity(store) if action.kind in kinds]
    assert sorted(map(repr, recorded)) == sorted(repr(ScheduleAction(kind, NOW, None, *ANN)) for kind in kinds)


def test_requests_in_bulk_are_recorded_for_each_schedule(store, runner, registrar):
    runner.run(registrar.upsert(a_job("b", policy=SERVICE)))
    state, dead = now(store), a_run(State.FAILED, 1)
    assert store.commit([ScheduleUpdate(state, state, (dead,))], NOW) == [True]
    for _ in range(2):
        runner.run(trigger_all(registrar, ["a", "b"], "all of them", ANN))
        runner.run(redrive_all(registrar, [dead.key], actor=ANN))
    kinds = sorted((action.kind, action.actor, action.note) for action in activity(store))
    assert kinds == [(kind, *ANN) for kind in (ActionKind.REDRIVEN, ActionKind.TRIGGERED, ActionKind.TRIGGERED)]


def test_requester_of_a_run_is_found_by_its_schedule_and_the_time_of_its_record(store, runner, clock, registrar):
    runner.run(registrar.upsert(a_job("b", policy=SERVICE)))
    runs = [runner.run(registrar.trigger("a", "first", ANN))]
    runner.run(registrar.trigger("a", "without a name"))
    runner.run(registrar.pause("a", Actor("bob", "at the same time")))
    clock.advance(1)
    runs.append(runner.run(registrar.trigger("a", "second", Actor("bob", "again"))))
    runs.append(runner.run(registrar.trigger("b", "third", ANN)))
    places = [(run.identity, run.created) for run in runs]
    absent = [("a", NOW + 500), ("c", NOW), ("b", NOW)]
    found = runner.run(store.store.overview.requests([*places, *absent, *places]))
    assert found == {
        place: [ScheduleAction(ActionKind.TRIGGERED, place[1], None, *actor)]
        for place, actor in zip(places, [ANN, Actor("bob", "again"), ANN], strict=True)
    }
    assert runner.run(store.store.overview.requests([])) == {}


def test_request_without_a_name_leaves_no_action(store, runner, registrar):
    runner.run(registrar.trigger("a", "once"))
    assert activity(store) == []


def test_request_is_no_change_of_the_schedule(store, runner, clock, registrar):
    runner.run(registrar.pause("a", Actor("bob", "quiet")))
    clock.advance(1)
    runner.run(registrar.trigger("a", "once", ANN))
    assert [action.kind for action in store.actions("a")] == [ActionKind.PAUSED]
    clock.advance(600)
    report = runner.run(why(store.store, "a", NOW + 500_000))
    assert report.action == ScheduleAction(ActionKind.PAUSED, NOW, None, "bob", "quiet")


def test_requests_are_kept_as_long_as_runs(store, registrar):
    for kind in (ActionKind.TRIGGERED, ActionKind.PAUSED):
        for at in (LONG_AGO * 1000, TODAY * 1000 - DAY):
            state = now(store)
            assert store.commit([ScheduleUpdate(state, state, action=ScheduleAction(kind, at))], NOW) == [True]
    while store.maintain(TODAY * 1000, 90 * DAY).more:
        pass
    kept = [(action.kind, action.at < TODAY * 1000 - 90 * DAY) for action in activity(store)]
    expected = [(ActionKind.PAUSED, False), (ActionKind.PAUSED, True), (ActionKind.TRIGGERED, False)]
    assert sorted(kept) == expected
