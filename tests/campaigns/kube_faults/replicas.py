"""Replicas: several operators with one store, and with two by mistake; claims of dead ones; stores that are lost."""

import time

from kron.rules.outcome import Reason
from kron.rules.run_state import State
from tests.campaigns.kube_faults.world import ALLOW

NAMES = tuple("abcdefgh")
KILLS = 4
FEW = {"successfulJobsHistoryLimit": 1}


def share_one_store(world):
    """Two operators divide the KronJobs. Each of them is killed in turn."""
    store = world.ground.database()
    operators = [world.operator(f"operator-{number}", store=store) for number in range(2)]
    for name in NAMES:
        world.put(name, schedule="plus: */4 * * * * *", **FEW)
    for operator in operators:
        operator.start()
    for number in range(KILLS):
        time.sleep(3)
        operator = operators[number % 2]
        operator.kill()
        operator.start()
    for name in NAMES:
        world.ended(operators[0], name, 1)


def release_claims(world):
    """One of two operators dies with claims that it has not sent. The other one creates the Jobs.

    A claim whose deadline has passed is missed: that no Job was created is certain.
    """
    store = world.ground.database()
    for name in NAMES:
        patient = "5m" if name in NAMES[::2] else "1s"
        world.put(name, schedule="plus: */10 * * * * *", policy={**ALLOW, "deadline": patient}, **FEW)
    living = world.operator("living", store=store)
    dying = world.operator("dying", store=store)
    living.start()
    dying.start("K4:3:kill", wait=False)
    assert dying.dies(120), "the operator passed no claim"
    held = [run for name in NAMES for run in living.runs(name) if run.state is State.LAUNCHING]
    world.check(bool(held), "the dead operator left no claim")
    living.until(lambda: all(_ended(living, run) for run in held), "the claims of the dead operator end")
    for run in held:
        last = _ended(living, run)
        is_patient = run.identity.rpartition("/")[2] in NAMES[::2]
        is_right = last.state is State.SUCCESS if is_patient else last.reason is Reason.DEADLINE or last.finished
        world.check(is_right and last.state is not State.UNKNOWN, f"a claim of the dead operator became {last}")


def _ended(operator, run):
    name = run.identity.rpartition("/")[2]
    return next((each for each in operator.runs(name) if each.key == run.key and not each.open), None)


def have_two_stores(world):
    """Two operators that know nothing of each other create each Job once."""
    operators = [world.operator(f"operator-{number}") for number in range(2)]
    for name in NAMES[:3]:
        world.put(name, successfulJobsHistoryLimit=20)
    for operator in operators:
        operator.start()
    for operator in operators:
        world.ended(operator, "a", 4)
    operators[0].kill()
    operators[0].start()
    world.ended(operators[0], "a", 2)


def lose_store(world):
    """`forbid` still holds, and nothing runs again: the Jobs that are there are adopted."""
    operator, world.forgets = world.operator(), True
    world.put("stuck", "never", policy={"concurrency": "forbid"})
    world.put("quick", successfulJobsHistoryLimit=0)
    operator.start()
    world.ended(operator, "quick", 3)
    operator.until(lambda: world.status("stuck").get("lastReason") == "overlap", "a run is skipped")
    operator.lose_store()
    operator.kill()
    operator.start()
    world.ended(operator, "quick", 3)
    operator.until(lambda: len(operator.runs("stuck")) > 2, "later runs")
    world.check(len(world.created("stuck")) == 1, "forbid does not hold after the loss of the store")
    world.check(world.events()["Adopted"] > 0, "no event tells that a Job was adopted")
