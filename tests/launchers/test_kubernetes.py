"""Jobs of Kubernetes: one a period, whatever is cut, and what is said of them. The API is a small one over HTTP."""

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from lightkube import AsyncClient, KubeConfig
from lightkube.config.models import Cluster as Server
from lightkube.config.models import User

from kron.launchers.kubernetes import KEY_ANNOTATION, PAYLOAD_ANNOTATION, PERIOD_ANNOTATION, KubernetesLauncher
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.schedule.policy import KRON, MILLISECOND
from tests.launchers.cluster import Cluster
from tests.launchers.making import NOMINAL, Ear, a_launch, result_of

TARGET = "kubernetes:shop/report"


@pytest.fixture
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.close()


@asynccontextmanager
async def launching(cluster, ear):
    config = KubeConfig.from_one(cluster=Server(server=cluster.url), user=User(token="t"))
    client = AsyncClient(config)
    launcher = KubernetesLauncher(client, ear, beat=0.01)
    try:
        yield launcher
    finally:
        for task in list(launcher.tasks):
            task.cancel()
        await asyncio.gather(*launcher.tasks, return_exceptions=True)
        await client.close()


def tried(cluster, *launches, whole=False):
    """What a launcher of its own answers to each launch, as after a crash of the one before."""

    async def answers():
        found = []
        for launch in launches:
            async with launching(cluster, Ear()) as launcher:
                answer = await launcher.start(launch)
                found.append(answer if whole else result_of(answer))
        return found

    return asyncio.run(answers())


def posted(cluster):
    return [path for method, path in cluster.requests if method == "POST"]


@pytest.mark.req("KSPEC-IDEM-K8S")
def test_an_owned_job_with_the_period_is_looked_for_before_one_is_made(cluster):
    launch = a_launch(TARGET)
    assert tried(cluster, launch, launch) == [LaunchResult.OK, LaunchResult.OK]
    assert len(posted(cluster)) == 1
    ((path, job),) = cluster.jobs.items()
    looked = cluster.requests.index(("GET", path))
    assert looked < cluster.requests.index(("POST", "/apis/batch/v1/namespaces/shop/jobs"))
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("CronJob", "report", "u-1", True)
    assert job["metadata"]["annotations"] == {KEY_ANNOTATION: launch.run.key, PERIOD_ANNOTATION: "2026-03-01T10:00:00Z"}
    assert job["metadata"]["labels"] == {"app": "report"}
    assert job["spec"]["template"]["spec"]["containers"] == [{"name": "main", "image": "shop/report:1"}]


@pytest.mark.req("KSPEC-IDEM-K8S")
def test_another_period_has_another_job(cluster):
    assert tried(cluster, a_launch(TARGET), a_launch(TARGET, nominal=NOMINAL + 86_400)) == [
        LaunchResult.OK,
        LaunchResult.OK,
    ]
    assert len(cluster.jobs) == 2


@pytest.mark.req("KSPEC-IDEM-K8S")
@pytest.mark.parametrize("change", ["owner", "period"])
def test_a_job_of_that_name_that_is_not_ours_is_left_alone(cluster, change):
    launch = a_launch(TARGET)
    tried(cluster, launch)
    (job,) = cluster.jobs.values()
    if change == "owner":
        job["metadata"]["ownerReferences"][0]["uid"] = "u-2"
    else:
        job["metadata"]["annotations"][PERIOD_ANNOTATION] = "2026-03-01T11:00:00Z"
    assert tried(cluster, launch) == [LaunchResult.REJECTED]
    assert len(posted(cluster)) == 1


@pytest.mark.req("KSPEC-IDEM-K8S")
def test_who_loses_the_race_finds_the_job_of_the_other(cluster):
    """Two look, and find nothing; the name decides who makes it."""
    launch = a_launch(TARGET)
    tried(cluster, launch)
    cluster.faults["GET", "jobs"] = 404
    assert tried(cluster, launch) == [LaunchResult.OK]
    assert (len(posted(cluster)), len(cluster.jobs)) == (2, 1)


@pytest.mark.parametrize(
    ("fault", "answer", "made"),
    [
        ({("POST", "jobs"): "cut after"}, LaunchResult.OK, 1),
        ({("POST", "jobs"): "cut before"}, LaunchResult.RETRYABLE, 0),
        ({("POST", "jobs"): 503}, LaunchResult.RETRYABLE, 0),
        ({("POST", "jobs"): 422}, LaunchResult.REJECTED, 0),
        ({("GET", "cronjobs"): 503}, LaunchResult.RETRYABLE, 0),
        ({("GET", "cronjobs"): 403}, LaunchResult.RETRYABLE, 0),
        ({("GET", "cronjobs"): 404}, LaunchResult.REJECTED, 0),
        ({("GET", "cronjobs"): "cut before"}, LaunchResult.RETRYABLE, 0),
        ({("GET", "jobs"): 500}, LaunchResult.UNKNOWN, 0),
        ({("GET", "jobs"): "cut before"}, LaunchResult.UNKNOWN, 0),
    ],
)
def test_what_an_answer_means(cluster, fault, answer, made):
    cluster.faults.update(fault)
    assert tried(cluster, a_launch(TARGET)) == [answer]
    assert len(cluster.jobs) == made


@pytest.mark.parametrize(
    ("fault", "code", "excerpt"),
    [
        ({("POST", "jobs"): 503}, 503, "as asked"),
        ({("POST", "jobs"): 422}, 422, "as asked"),
        ({("GET", "cronjobs"): 404}, 404, "as asked"),
        ({("GET", "jobs"): 500}, 500, "as asked"),
        ({("GET", "cronjobs"): "cut before"}, None, "RemoteProtocolError"),
    ],
)
def test_failure_is_answered_with_its_cause(cluster, fault, code, excerpt):
    cluster.faults.update(fault)
    (answer,) = tried(cluster, a_launch(TARGET), whole=True)
    assert (answer.code, answer.excerpt.partition(":")[0]) == (code, excerpt)


def test_a_cronjob_that_is_not_suspended_is_refused(cluster):
    """Kubernetes would run it, too."""
    cluster.cronjob["spec"]["suspend"] = False
    assert tried(cluster, a_launch(TARGET)) == [LaunchResult.REJECTED]
    assert cluster.jobs == {}


@pytest.mark.parametrize(("condition", "said"), [("Complete", Report.SUCCESS), ("Failed", Report.FAILED)])
def test_the_end_of_a_job_is_reported(cluster, condition, said):
    ear = Ear()

    async def followed():
        launch = a_launch(TARGET, policy=replace(KRON, run_lease=60 * MILLISECOND))
        async with launching(cluster, ear) as launcher:
            assert await launcher.start(launch) is LaunchResult.OK
            await ear.until(Report.STARTED)  # it lives
            (job,) = cluster.jobs.values()
            job["status"] = {
                "conditions": [{"type": condition, "status": "True", "reason": "Why", "message": "as asked"}]
            }
            await ear.until(said)
            await asyncio.sleep(0.01)
            assert (launcher.places, launcher.tasks) == ({}, set())
            assert ear.ends[-1] == (said, None, "Why: as asked" if said is Report.FAILED else "")

    asyncio.run(followed())


def test_a_job_that_is_cancelled_is_deleted_and_has_failed(cluster):
    ear = Ear()

    async def cancelled():
        launch = a_launch(TARGET)
        async with launching(cluster, ear) as launcher:
            await launcher.start(launch)
            await launcher.cancel(launch.run)
            await ear.until(Report.FAILED)

    asyncio.run(cancelled())
    assert cluster.jobs == {}


def test_a_worker_without_a_cluster_says_so(tmp_path):
    kron, home = Path(sys.executable).with_name("kron"), {"HOME": str(tmp_path), "PATH": ""}
    said = subprocess.run(
        [kron, "worker", "--store", "memory:", "--kubernetes"], env=home, capture_output=True, text=True
    )
    assert said.returncode == 1
    assert "NO_CLUSTER" in said.stderr and "KUBECONFIG" in said.stderr


def test_payload_is_an_annotation_of_the_job(cluster):
    launch = a_launch(TARGET)
    launch = replace(launch, job=replace(launch.job, payload='{"user":42}'))
    assert tried(cluster, launch, launch) == [LaunchResult.OK, LaunchResult.OK]
    ((_, job),) = cluster.jobs.items()
    assert job["metadata"]["annotations"][PAYLOAD_ANNOTATION] == '{"user":42}'
