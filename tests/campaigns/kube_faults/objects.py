"""Objects: Jobs, namespaces, quotas, templates and the definition are changed or deleted under the operator."""

import time

from kron.kube.kind import JOB
from kron.kube.names import job_name
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.timing.key import key_of
from tests.campaigns.kube_faults.world import ALLOW, NAMESPACES, YEARLY
from tests.kube.cluster.objects import job
from tests.kube.cluster.pods import template
from tests.kube.conftest import apply_definition, definition

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUIET_SECONDS = 10.0
EVERY = 5  # seconds between two periods of a KronJob whose launches are refused for good
SELDOM = 15  # seconds between two periods of a KronJob whose launches are repeated for 10 s
OFTEN = f"plus: */{EVERY} * * * * *"


def delete_job(world):
    """The run of a Job that was deleted has failed, and the reason says why."""
    operator = world.operator()
    world.put("a", "never", policy={"concurrency": "forbid"})
    operator.start()
    (body,) = operator.until(lambda: world.living_jobs("a"), "a Job")
    world.cluster.do("DELETE", JOB.path(world.namespace, body["metadata"]["name"]))
    operator.until(lambda: [run for run in operator.runs("a") if run.state is State.FAILED], "its run has failed")
    operator.until(lambda: len(world.created("a")) > 1, "the next run starts")


def disown_job(world):
    """A Job whose owner was removed is left alone, although the history limit is 0."""
    operator = world.operator()
    world.put("a", "never", schedule=OFTEN, successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
    operator.start()
    (body, *_) = operator.until(lambda: world.living_jobs("a"), "a Job")
    path = JOB.path(world.namespace, body["metadata"]["name"])
    world.patch(path, {"metadata": {"ownerReferences": None}})
    status = {"conditions": [{"type": "Failed", "status": "True", "reason": "Test", "message": "ended by hand"}]}
    world.cluster.request("PATCH", f"{path}/status", {"status": status}, content_type="application/merge-patch+json")
    operator.until(lambda: len(world.created("a")) > 2, "more runs")
    found = world.cluster.request("GET", path)
    is_same = found.is_success and found.json()["metadata"]["uid"] == body["metadata"]["uid"]
    world.check(is_same, "the Job without an owner was deleted")


def take_name(world):
    """A foreign Job with the name of a run is left alone, and the run is missed."""
    operator = world.operator()
    world.put("a", schedule=YEARLY)
    operator.start()
    operator.until(lambda: world.status("a").get("nextRun"), "the schedule is known")
    first = (int(time.time()) // 10 + 2) * 10
    key = key_of(f"{world.namespace}/a", first)
    foreign = world.cluster.do("POST", JOB.path(world.namespace), job(job_name("a", key), template("never")))
    world.change("a", schedule="plus: */10 * * * * *")
    operator.until(lambda: [run for run in operator.runs("a") if run.nominal == first and not run.open], "the run ends")
    (run,) = [run for run in operator.runs("a") if run.nominal == first]
    is_missed = (run.outcome, run.reason) == (Outcome.MISSED, Reason.LAUNCH_FAILED)
    world.check(is_missed, f"the run is {run.outcome} ({run.reason})")
    operator.until(lambda: world.events()["NameTaken"], "an event tells it")
    after = world.cluster.do("GET", JOB.path(world.namespace, foreign["metadata"]["name"]))["metadata"]
    world.check(after["uid"] == foreign["metadata"]["uid"], "the foreign Job was replaced")
    world.check("ownerReferences" not in after, "the foreign Job has an owner")
    world.ended(operator, "a", 1)


def terminate_namespace(world):
    """The operator asks little of a namespace that goes, and a held namespace goes once it is released."""
    proxy = world.proxy()
    operator = world.operator(proxy=proxy)
    for name in ("a", "b"):
        world.put(name)
    configs = f"{NAMESPACES}/{world.namespace}/configmaps"
    metadata = {"name": "held", "finalizers": ["test.kron.io/held"]}
    world.cluster.do("POST", configs, {"metadata": metadata})
    operator.start()
    world.ended(operator, "a", 1)
    world.cluster.do("DELETE", f"{NAMESPACES}/{world.namespace}")
    time.sleep(3)
    _stay_calm(world, proxy, 2)
    world.patch(f"{configs}/held", {"metadata": {"finalizers": None}})
    path = f"{NAMESPACES}/{world.namespace}"
    operator.until(lambda: world.cluster.request("GET", path).status_code == 404, "the namespace is gone")


def _stay_calm(world, proxy, kronjobs, seconds=QUIET_SECONDS):
    """Check that the operator sends less than a request per second and KronJob."""
    begun = len(proxy.requests)
    time.sleep(seconds)
    rate = (len(proxy.requests) - begun) / seconds / kronjobs
    world.check(rate < 1, f"{rate:.1f} requests per second and KronJob")


def forbid_jobs(world):
    """Without room in the quota, runs are missed with that reason; with room, they run again."""
    proxy = world.proxy()
    operator = world.operator(proxy=proxy)
    quotas = f"{NAMESPACES}/{world.namespace}/resourcequotas"
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"count/jobs.batch": "0"}}}
    world.cluster.do("POST", quotas, quota)
    operator.until(lambda: world.cluster.do("GET", f"{quotas}/none").get("status", {}).get("hard"), "the quota counts")
    world.put("a", schedule=f"plus: */{SELDOM} * * * * *", policy={**ALLOW, "deadline": "10s"})
    operator.start()
    operator.until(lambda: len(_refused(operator, "a")) > 1, "runs are refused")
    _stay_calm(world, proxy, 1, SELDOM)
    world.check(not world.created("a"), "a Job was created without room in the quota")
    world.cluster.do("DELETE", f"{quotas}/none")
    world.ended(operator, "a", 1)


def _refused(operator, name):
    return [run for run in operator.runs(name) if run.reason is Reason.LAUNCH_FAILED and not run.open]


def break_template(world):
    """A template that the API server refuses is told, runs are missed, and a good one runs."""
    proxy = world.proxy()
    operator = world.operator(proxy=proxy)
    bad = {"spec": {"template": {"spec": {"containers": []}}}}
    world.put("a", schedule=OFTEN, jobTemplate=bad)
    operator.start()
    operator.until(lambda: world.condition("a", "TemplateValid")["status"] == "False", "the template is refused")
    operator.until(lambda: len(_refused(operator, "a")) > 1, "runs are refused")
    _stay_calm(world, proxy, 1)
    world.change("a", jobTemplate=template())
    world.ended(operator, "a", 1)


def delete_definition(world):
    """The definition is deleted with all KronJobs, and applied again. Nothing old runs, and nothing twice."""
    proxy = world.proxy()
    operator = world.operator(proxy=proxy)
    for name in ("a", "b"):
        world.put(name)
    operator.start()
    world.ended(operator, "a", 1)
    path = f"{DEFINITIONS}/{definition()['metadata']['name']}"
    world.cluster.do("DELETE", path)
    operator.until(lambda: world.cluster.request("GET", path).status_code == 404, "the definition is gone")
    time.sleep(2)
    _stay_calm(world, proxy, 2)
    apply_definition(world.cluster)
    applied = time.time()
    for name in ("a", "b"):
        world.put(name)
    for name in ("a", "b"):
        world.ended(operator, name, 1)
    old = [run for run in operator.runs("a") if run.created >= applied * 1000 > run.nominal * 1000 and run.launched]
    world.check(not old, f"{len(old)} periods of the time without a definition ran")
