"""Edits: KronJobs are edited, suspended, deleted and created again, also while no operator runs."""

import time

from kron.kube.kind import KRONJOB
from kron.timing.zone import instant_of
from tests.campaigns.kube_faults.world import ALLOW, NAMESPACES, OFTEN, YEARLY

DOWN_SECONDS = 5.0  # before and after an edit, with some periods
SUSPENDED_SECONDS = 20.0  # 10 periods: for the operator no other than days
GONE_SECONDS = 60.0


def edit_later(world):
    """A schedule that is often due becomes a yearly one. What falls due after the edit does not run."""
    operator = world.operator()
    world.put("a", policy={**ALLOW, "deadline": "1h"})
    operator.start()
    world.ended(operator, "a", 1)
    operator.kill()
    time.sleep(DOWN_SECONDS)
    edited = world.change("a", schedule=YEARLY)
    time.sleep(DOWN_SECONDS)
    operator.start()
    operator.until(lambda: world.status("a").get("observedGeneration") == 2, "the edit is known")
    time.sleep(DOWN_SECONDS)
    late = [period for period in world.created("a") if instant_of(period) > instant_of(edited)]
    world.check(not late, f"{len(late)} periods after the edit ran")


def edit_earlier(world):
    """A yearly schedule becomes one that is often due. No period before the edit runs."""
    operator = world.operator()
    world.put("a", schedule=YEARLY, policy={**ALLOW, "deadline": "1h"})
    operator.start()
    operator.until(lambda: world.status("a").get("nextRun"), "the schedule is known")
    operator.kill()
    time.sleep(DOWN_SECONDS)
    edited = world.change("a", schedule=OFTEN)
    time.sleep(DOWN_SECONDS)
    operator.start()
    world.ended(operator, "a", 3)
    old = [period for period in world.created("a") if instant_of(period) <= instant_of(edited)]
    world.check(not old, f"{len(old)} periods before the edit ran")
    first = min(map(instant_of, world.created("a")))
    world.check(first <= instant_of(edited) + 3, "periods after the edit are left out")


def suspend(world):
    """The periods of a suspension never run, whatever their deadline is. It ends while no operator runs."""
    operator = world.operator()
    world.put("a", policy={**ALLOW, "deadline": "1h"})
    operator.start()
    world.ended(operator, "a", 1)
    begun = world.change("a", policy={**ALLOW, "deadline": "1h", "suspend": True})
    operator.until(lambda: world.condition("a", "Suspended")["status"] == "True", "it is suspended")
    time.sleep(SUSPENDED_SECONDS)
    operator.kill()
    ended = world.change("a", policy={**ALLOW, "deadline": "1h", "suspend": False})
    time.sleep(DOWN_SECONDS)
    operator.start()
    world.ended(operator, "a", 2)
    wrong = [each for each in world.created("a") if instant_of(begun) + 2 < instant_of(each) <= instant_of(ended)]
    world.check(not wrong, f"{len(wrong)} periods of the suspension ran")


def recreate(world):
    """A KronJob that was created again owes nothing of its absence, and no period runs under both."""
    operator = world.operator()
    world.put("a", policy={**ALLOW, "deadline": "1h"})
    operator.start()
    world.ended(operator, "a", 1)
    world.remove("a")
    operator.until(lambda: _is_idle(operator), "its schedule is deleted")
    world.put("a", policy={**ALLOW, "deadline": "1h"})
    world.ended(operator, "a", 1)
    operator.kill()
    world.remove("a")
    gone, world.max_unknown = time.time(), 1  # a claim at the moment of the kill: its Job went with the KronJob
    time.sleep(DOWN_SECONDS + 10)
    world.put("a", policy={**ALLOW, "deadline": "1h"})
    back = instant_of(world.kronjob("a")["metadata"]["creationTimestamp"])
    operator.start()
    world.ended(operator, "a", 2)
    wrong = [each for each in world.created("a") if gone + 1 < instant_of(each) < back]
    world.check(not wrong, f"{len(wrong)} periods of the absence ran")


def _is_idle(operator):
    before = len(operator.runs("a"))
    time.sleep(4.5)
    return len(operator.runs("a")) == before


def uninstall(world):
    """Without an operator, a namespace with KronJobs and Jobs can be deleted."""
    operator = world.operator()
    for name in ("a", "b"):
        world.put(name, "never")
    operator.start()
    operator.until(lambda: world.living_jobs("a") and world.living_jobs("b"), "Jobs")
    operator.kill()
    world.cluster.do("DELETE", KRONJOB.path(world.namespace, "b"))
    path = f"{NAMESPACES}/{world.namespace}"
    world.cluster.do("DELETE", path)
    operator.until(lambda: world.cluster.request("GET", path).status_code == 404, "the namespace is gone", GONE_SECONDS)
