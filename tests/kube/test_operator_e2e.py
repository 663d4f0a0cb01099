"""The operator on a real cluster: one Job per period, whatever is killed, lost or edited, and a status that says so."""

import calendar
import shutil
import time
from collections import Counter
from itertools import pairwise

import pytest

from kron.kube.kind import JOB, KRONJOB
from kron.kube.names import KEY, PERIOD_ID, SCHEDULED
from tests.kube.cluster.control_plane import MERGE_PATCH
from tests.kube.cluster.objects import kronjob
from tests.kube.cluster.operator_process import OperatorProcess
from tests.kube.cluster.pods import ending_pods, template

pytestmark = pytest.mark.slow
EVERY_5_SECONDS = "plus: */5 * * * * *"
ENOUGH = {"successfulJobsHistoryLimit": 1000, "failedJobsHistoryLimit": 1000}


class World:
    """A namespace and its operator."""

    def __init__(self, cluster, namespace, folder):
        self.cluster, self.namespace = cluster, namespace
        self.operator = OperatorProcess(cluster, namespace, folder, "--default-deadline", "1h", "--events", "all")

    def put(self, name, end="success", **spec):
        """Create a KronJob whose pods end so."""
        fields = {"schedule": EVERY_5_SECONDS, "jobTemplate": template(end), **ENOUGH, **spec}
        return self.cluster.do("POST", KRONJOB.path(self.namespace), kronjob(name, fields))

    def change(self, name, **spec):
        """Edit a KronJob."""
        path = KRONJOB.path(self.namespace, name)
        return self.cluster.do("PATCH", path, {"spec": spec}, content_type=MERGE_PATCH)

    def status(self, name):
        return self.cluster.do("GET", KRONJOB.path(self.namespace, name)).get("status") or {}

    def condition(self, name, kind):
        found = [each for each in self.status(name).get("conditions") or () if each["type"] == kind]
        return found[0] if found else {"status": "Unknown"}

    def jobs(self, name):
        """The Jobs of a KronJob that are not being deleted, by period."""
        items = self.cluster.do("GET", f"{JOB.path(self.namespace)}?labelSelector=kron.io/kronjob={name}")["items"]
        return sorted(
            (each for each in items if "deletionTimestamp" not in each["metadata"]),
            key=lambda each: each["metadata"]["annotations"][PERIOD_ID],
        )

    def periods(self, name):
        return [each["metadata"]["annotations"][PERIOD_ID] for each in self.jobs(name)]

    def events(self):
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        found = self.cluster.do("GET", path)["items"]
        return Counter(each["reason"] for each in found if each.get("reportingController") == "kron.io/operator")


@pytest.fixture
def world(cluster, namespace, tmp_path):
    return World(cluster, namespace, tmp_path)


def executed(runs):
    return [run for run in runs if run.outcome == "executed"]


def is_finished(job):
    return {each["type"] for each in job.get("status", {}).get("conditions") or () if each["status"] == "True"} & {
        "Complete",
        "Failed",
    }


def test_each_period_has_one_job_across_kills(world):
    """The periods that no operator handled are handled later, because their deadline is an hour."""
    operator = world.operator
    world.put("a", policy={"concurrency": "allow"})
    world.put("b", "failed", policy={"concurrency": "allow"})
    with ending_pods(world.cluster, world.namespace), operator:
        for count in (2, 3, 4):
            operator.until(lambda count=count: len(world.jobs("a")) >= count, f"{count} Jobs")
            operator.kill()
            operator.start()
        for name in "ab":
            world.change(name, policy={"suspend": True})
        operator.until(lambda: all(is_settled(world, name) for name in "ab"), "all Jobs have ended")
        runs = {name: operator.runs(name) for name in "ab"}
    operator.audit()
    for name, state in (("a", "success"), ("b", "failed")):
        assert {str(run.state) for run in executed(runs[name])} == {state}
        keys = Counter(job["metadata"]["annotations"][KEY] for job in world.jobs(name))
        assert keys == Counter(run.key for run in executed(runs[name])), "one Job for each run, and no others"
        times = [time_of(period) for period in world.periods(name)]
        assert {later - earlier for earlier, later in pairwise(times)} == {5}, "a period was left out"
    job = world.jobs("a")[0]
    assert job["metadata"]["annotations"][SCHEDULED] == job["metadata"]["annotations"][PERIOD_ID]


def is_settled(world, name):
    """Whether a KronJob is suspended, and all its runs have ended."""
    runs = world.operator.runs(name)
    return world.condition(name, "Suspended")["status"] == "True" and all(not run.open for run in runs)


def time_of(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def test_lost_store_keeps_forbid_and_runs_nothing_again(world):
    """The first run still runs, so the others are skipped. What ran before the loss is not run again."""
    operator = world.operator
    world.put("stuck", "never")
    world.put("quick", **{**ENOUGH, "successfulJobsHistoryLimit": 0}, policy={"concurrency": "allow"})
    with ending_pods(world.cluster, world.namespace), operator:
        operator.until(lambda: world.status("stuck").get("lastReason") == "overlap", "a run is skipped")
        operator.until(lambda: len(executed(operator.runs("quick"))) > 2, "runs of the other")
        operator.kill()
        before = {run.key for run in executed(operator.runs("quick"))}
        left = {job["metadata"]["annotations"][KEY] for job in world.jobs("quick")}  # which are adopted
        last_told = time_of(world.status("quick")["lastPeriodID"])
        operator.lose_store()
        operator.start()
        operator.until(lambda: len(executed(operator.runs("quick"))) > 2, "runs after the loss")
        operator.until(lambda: len(operator.runs("stuck")) > 1, "the Job is adopted, and a run is skipped")
        again = [run for run in executed(operator.runs("quick")) if run.key in before]
    assert all(run.nominal > last_told for run in again if run.key not in left)
    assert len(world.jobs("stuck")) == 1
    assert world.events()["Adopted"] > 0


def test_edit_while_down_runs_no_old_period(world):
    operator = world.operator
    world.put("a", schedule="0 3 1 1 *")
    with operator:
        operator.until(lambda: world.status("a").get("nextRun"), "the schedule is known")
        operator.kill()
        time.sleep(11)  # the new schedule has periods in it
        edited = world.change("a", schedule=EVERY_5_SECONDS)["metadata"]["managedFields"]
        edited_at = max(entry["time"] for entry in edited if entry.get("subresource") is None)
        operator.start()
        operator.until(lambda: world.periods("a"), "a Job")
    assert min(world.periods("a")) > edited_at
    operator.audit()


def test_replace_ends_the_job_that_runs(world):
    operator = world.operator
    world.put("a", "never", policy={"concurrency": "replace"})
    with operator:
        operator.until(lambda: len(executed(operator.runs("a"))) > 2, "3 runs")
        world.change("a", policy={"suspend": True})
        operator.until(lambda: world.condition("a", "Suspended")["status"] == "True", "it is suspended")
        operator.until(lambda: len(world.jobs("a")) == 1, "one Job is left")
        *others, last = executed(operator.runs("a"))
        assert {str(run.reason) for run in others} == {"replaced"}
        assert world.jobs("a")[0]["metadata"]["annotations"][KEY] == last.key
        assert world.status("a")["active"] == 1
        operator.until(lambda: world.events()["Replaced"], "an event says so")


def test_invalid_kronjob_says_why_and_recovers(world):
    operator = world.operator
    world.put("zone", timezone="Europe/Pari")
    world.put("image", jobTemplate={"spec": {"template": {"spec": {"containers": []}}}})
    with operator:
        operator.until(lambda: world.condition("zone", "Ready")["status"] == "False", "the spec is refused")
        assert "Europe/Pari" in world.condition("zone", "Ready")["message"]
        operator.until(lambda: world.condition("image", "TemplateValid")["status"] == "False", "so is the template")
        assert "spec.template.spec.containers" in world.condition("image", "TemplateValid")["message"]
        operator.until(lambda: {"InvalidSpec", "TemplateInvalid"} <= set(world.events()), "both are told")
        assert world.periods("zone") == []
        world.change("zone", timezone="UTC")
        operator.until(lambda: world.condition("zone", "Ready")["status"] == "True", "it is ready")
        operator.until(lambda: world.periods("zone"), "and runs")


def test_deleted_kronjob_has_no_further_jobs(world):
    operator = world.operator
    world.put("a", policy={"concurrency": "allow"})
    with ending_pods(world.cluster, world.namespace), operator:
        operator.until(lambda: world.periods("a"), "a Job")
        world.cluster.do("DELETE", KRONJOB.path(world.namespace, "a"))
        operator.until(lambda: operator.runs("a") and count_stays(operator, "a"), "no further runs")
    operator.audit()


def count_stays(operator, name):
    """Whether a schedule has no new run within two periods."""
    before = len(operator.runs(name))
    time.sleep(11)
    return len(operator.runs(name)) == before


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kubectl_shows_outcome_and_next_run(world):
    world.put("a", policy={"concurrency": "allow"})
    with ending_pods(world.cluster, world.namespace), world.operator as operator:
        operator.until(lambda: world.status("a").get("lastEnd") == "success", "a run succeeded")
        line = world.cluster.kubectl("get", "kj", "-n", world.namespace, "--no-headers").split()
        assert line[0] == "a"
        assert {"executed", "success"} <= set(line)
        operator.until(lambda: world.events()["JobCreated"], "an event")
        described = world.cluster.kubectl("describe", "kj", "a", "-n", world.namespace)
        assert "JobCreated" in described
