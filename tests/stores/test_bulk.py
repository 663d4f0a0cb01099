"""Bulk actions on every store: a batch that is repeated, also by two processes at once, does nothing twice."""

import asyncio
from time import monotonic

from kron.apps.bulk_plan import pause_plan, redrive_plan, resume_plan, trigger_plan
from kron.engine.bulk import BATCH_SIZE, pause_all, redrive_all, resume_all, trigger_all
from kron.engine.registrar import Actor, Registrar
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from tests.stores.making import a_case, a_job, a_run, define

ANA = Actor("ana", "holiday")


def names(count):
    return [f"s{n:03d}" for n in range(count)]


def filled(store, count):
    registrar = Registrar(store.store)
    store.runner.run(registrar.upsert_all([(a_job(name, "0 * * * *"), ANA) for name in names(count)]))
    return registrar


def test_batch_pauses_and_resumes_each_schedule_once(store):
    registrar = filled(store, BATCH_SIZE)
    began = monotonic()
    assert store.runner.run(pause_all(registrar, names(BATCH_SIZE), ANA)) == (BATCH_SIZE, 0, ())
    assert monotonic() - began < 30  # a request must not take longer
    assert store.runner.run(pause_all(registrar, names(BATCH_SIZE), ANA)) == (0, BATCH_SIZE, ())
    assert store.identities("", 1_000, paused=True) == names(BATCH_SIZE)
    assert store.runner.run(resume_all(registrar, names(3), ANA)) == (3, 0, ())
    assert store.runner.run(resume_all(registrar, names(4), ANA)) == (1, 3, ())
    assert [str(each.kind) for each in store.actions("s000")] == ["paused", "resumed"]


def test_two_senders_of_one_request_give_one_run_of_each(store):
    registrar = filled(store, 40)

    async def both():
        return await asyncio.gather(*(trigger_all(registrar, names(40), "k") for _ in range(2)))

    results = store.runner.run(both())
    assert all(result.done + result.unchanged == 40 for result in results)
    assert [len(store.runs(name, 10)) for name in names(40)] == [1] * 40


def test_dead_letters_are_redriven_once(store):
    registrar, keys = Registrar(store.store), []
    for name in names(5):
        dead = a_run(State.FAILED, identity=name, reason=Reason.LAUNCH_FAILED)._replace(outcome=Outcome.MISSED)
        define(store, a_case(name), dead)
        keys.append(dead.key)
    assert store.runner.run(redrive_all(registrar, keys[:2])) == (2, 0, ())
    plan = store.runner.run(redrive_plan(registrar, keys))
    assert (plan.meant, plan.read, plan.changed) == (5, 5, 3)
    assert store.runner.run(redrive_all(registrar, keys)) == (3, 2, ())
    assert [len(store.runs(name, 10)) for name in names(5)] == [2] * 5


def test_plan_says_what_the_action_then_does(store):
    registrar = filled(store, 12)
    store.runner.run(registrar.pause("s003", ANA))
    plan = store.runner.run(pause_plan(store.store, names(12), None))
    assert (plan.meant, plan.changed, plan.periods, plan.more_periods) == (12, 11, 11 * 24, False)
    assert store.runner.run(pause_all(registrar, names(12), ANA)).done == plan.changed
    assert store.runner.run(resume_plan(store.store, names(12))).changed == 12
    assert store.runner.run(trigger_plan(store.store, [*names(12), "absent"])).changed == 12
