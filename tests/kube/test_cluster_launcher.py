"""The launcher of KronJobs on a real API server: one owned Job for each period, whoever asks and how often."""

import copy

import pytest

from kron.engine.launcher import Launch
from kron.kube.kind import JOB, KRONJOB, Place
from kron.kube.names import KEY, PERIOD_ID, Owner, job_of, mark_of
from kron.language import parse
from kron.launchers.kronjob import KronJobLauncher
from kron.rules.launch_result import LaunchResult
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.job import Job
from kron.timing.key import key_of
from tests.kube.cluster.objects import asked, kronjob
from tests.kube.cluster.pods import template
from tests.launchers.making import NOMINAL, result_of
from tests.launchers.test_kronjob import Owners
from tests.operator.specs import spec_of

pytestmark = [pytest.mark.slow, pytest.mark.req("KSPEC-IDEM-K8S")]
OK, REJECTED = LaunchResult.OK, LaunchResult.REJECTED
DAY = 86_400


@pytest.fixture
def owner(cluster, namespace):
    """A KronJob that exists."""
    body = cluster.do("POST", KRONJOB.path(namespace), kronjob("report", spec_of({"jobTemplate": template()})))
    metadata = body["metadata"]
    return Owner(Place(namespace, "report"), metadata["uid"], metadata["generation"], body["spec"]["jobTemplate"])


def launch_of(owner, nominal=NOMINAL):
    identity = "/".join(owner.place)
    job = Job(identity, parse("0 10 * * *", dialect="kron"), target=f"kronjob:{identity}")
    run = Run(key_of(identity, nominal), identity, nominal, 1, nominal * 1000, State.LAUNCHING)
    return Launch(run, job, nominal * 1000 + 15_000)


def started(cluster, owner, *launches):
    """The results of launches, each by a launcher of its own, as after a restart."""

    async def use(api):
        results = [await KronJobLauncher(api, Owners(owner)).start(launch) for launch in launches]
        return [result if isinstance(result, LaunchResult) else result_of(result) for result in results]

    return asked(cluster, use)


def jobs(cluster, owner):
    return cluster.do("GET", JOB.path(owner.place.namespace))["items"]


def test_second_launch_finds_the_owned_job_of_the_period(cluster, owner):
    launch = launch_of(owner)
    assert started(cluster, owner, launch, launch) == [OK, OK]
    (job,) = jobs(cluster, owner)
    assert (mark_of(job).owner_uid, mark_of(job).period_id) == (owner.uid, "2026-03-01T10:00:00Z")


def test_another_period_has_another_job(cluster, owner):
    assert started(cluster, owner, launch_of(owner), launch_of(owner, NOMINAL + DAY)) == [OK, OK]
    assert len(jobs(cluster, owner)) == 2


@pytest.mark.parametrize("change", ["owner", "period", "key"])
def test_job_that_is_not_of_the_period_is_left_alone(cluster, owner, change):
    launch = launch_of(owner)
    body = copy.deepcopy(job_of(owner, launch.run))
    if change == "owner":
        del body["metadata"]["ownerReferences"]
    else:
        body["metadata"]["annotations"][{"period": PERIOD_ID, "key": KEY}[change]] = "another"
    made = cluster.do("POST", JOB.path(owner.place.namespace), body)
    assert started(cluster, owner, launch) == [REJECTED]
    (job,) = jobs(cluster, owner)
    assert job["metadata"]["uid"] == made["metadata"]["uid"]
