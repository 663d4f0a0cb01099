"""Jobs of KronJobs: one request per launch, one Job per run, and a truthful answer to everything that can happen."""

import asyncio
from dataclasses import replace

import pytest

from kron.engine.launcher import Launch
from kron.kube.kind import KRONJOB, Place
from kron.kube.names import KEY, SEED_HASH, Owner, mark_of
from kron.language import parse
from kron.launchers.kronjob import KronJobLauncher
from kron.rules.launch_result import LaunchResult
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.decision import decide
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.period import Period
from tests.kube.conftest import connected
from tests.kube.server import FakeServer, Fault
from tests.launchers.making import NOMINAL, result_of

OWNER = Owner(Place("shop", "report"), "u-1", 4, {"spec": {"newField": 1, "template": {}}})
JOB = Job("shop/report", parse("0 10 * * * @win(after,1h)", dialect="kron"), target="kronjob:shop/report")
OK, REJECTED, RETRYABLE, UNKNOWN = LaunchResult.OK, LaunchResult.REJECTED, LaunchResult.RETRYABLE, LaunchResult.UNKNOWN


@pytest.fixture
def server():
    server = FakeServer()
    yield server
    server.close()


class Owners:
    """KronJobs by place."""

    def __init__(self, *owners, is_complete=True):
        self.owners, self.is_complete = {owner.place: owner for owner in owners}, is_complete

    def owner(self, place):
        return self.owners.get(place)


def a_launch(nominal=NOMINAL, trigger="", job=JOB):
    run = Run(key_of(job.identity, nominal, trigger), job.identity, nominal, 1, nominal * 1000, State.LAUNCHING)
    return Launch(run._replace(trigger=trigger), job, nominal * 1000 + 15_000)


def used(server, use, owners=None):
    taken = []

    async def main():
        async with connected(server.url) as api:
            chosen = Owners(OWNER) if owners is None else owners
            return await use(KronJobLauncher(api, chosen, lambda place, name: taken.append((place, name))))

    return asyncio.run(main()), taken


def started(server, launch=None, owners=None):
    return used(server, lambda launcher: launcher.start(launch or a_launch()), owners)[0]


def job_in(server):
    (job,) = server.of("jobs").values()
    return job


def test_launch_is_one_request_and_gives_the_job_of_the_run(server):
    assert started(server) is OK
    assert [method for method, *_ in server.requests] == ["POST"]
    job = job_in(server)
    assert job["spec"] == OWNER.template["spec"]
    assert job["metadata"]["ownerReferences"][0]["apiVersion"] == KRONJOB.api_version
    assert job["metadata"]["annotations"][KEY] == a_launch().run.key
    seed_hash = decide(JOB.schedule, Period(NOMINAL), JOB.identity).seed_hash
    assert job["metadata"]["annotations"][SEED_HASH] == seed_hash


def test_manual_run_has_no_seed(server):
    assert started(server, a_launch(trigger="by-hand")) is OK
    assert SEED_HASH not in job_in(server)["metadata"]["annotations"]


@pytest.mark.req("KSPEC-IDEM-K8S")
def test_second_attempt_finds_the_job_of_the_first(server):
    assert [started(server), started(server)] == [OK, OK]
    assert mark_of(job_in(server)) == (OWNER.uid, a_launch().run.key, "2026-03-01T10:00:00Z")


def test_job_deleted_between_the_requests_is_not_created_again(server):
    started(server)
    server.fail("GET", "jobs", Fault(404, reason="NotFound"))
    assert started(server) is OK
    assert server.count("POST", "/jobs") == 2


@pytest.mark.req("KSPEC-IDEM-K8S")
@pytest.mark.parametrize("change", ["owner", "key", "period"])
def test_job_of_another_run_is_left_alone_and_told(server, change):
    started(server)
    job = job_in(server)
    if change == "owner":
        job["metadata"]["ownerReferences"][0]["uid"] = "u-2"
    else:
        job["metadata"]["annotations"][{"key": KEY, "period": "kron.io/period-id"}[change]] = "another"
    answer, taken = used(server, lambda launcher: launcher.start(a_launch()))
    assert result_of(answer) is REJECTED
    assert taken == [(OWNER.place, job["metadata"]["name"])]
    assert server.count("DELETE", "") == 0


@pytest.mark.parametrize("fault", [Fault(503), Fault(cut="before")])
def test_existing_job_that_cannot_be_read_is_unknown(server, fault):
    started(server)
    server.fail("GET", "jobs", fault)
    assert result_of(started(server)) is UNKNOWN


@pytest.mark.parametrize(
    ("fault", "result", "delay_ms", "made"),
    [
        (Fault(429, retry_after="3"), RETRYABLE, 3000, 0),
        (Fault(503, retry_after="2"), RETRYABLE, 2000, 0),
        (Fault(500), UNKNOWN, 0, 0),
        (Fault(504), UNKNOWN, 0, 0),
        (Fault(401), RETRYABLE, 0, 0),
        (Fault(403, reason="Forbidden"), RETRYABLE, 0, 0),
        (Fault(403, reason="Forbidden", causes=["NamespaceTerminating"], retry_after="5"), REJECTED, 0, 0),
        (Fault(404, reason="NotFound"), REJECTED, 0, 0),
        (Fault(409, reason="Conflict"), RETRYABLE, 0, 0),
        (Fault(422, reason="Invalid"), REJECTED, 0, 0),
        (Fault(400, reason="BadRequest"), REJECTED, 0, 0),
        (Fault(cut="before"), UNKNOWN, 0, 0),
    ],
    ids=lambda value: f"{value.status}{value.cut}{value.body['reason']}" if isinstance(value, Fault) else "",
)
def test_every_failure_has_its_answer(server, fault, result, delay_ms, made):
    server.fail("POST", "jobs", fault)
    answer = started(server)
    assert (answer.result, answer.retry_after_ms, answer.code) == (result, delay_ms, fault.status or None)
    assert answer.excerpt
    assert len(server.of("jobs")) == made
    assert result in (OK, REJECTED) or started(server) is OK, "the next attempt succeeds under the same name"
    assert len(server.of("jobs")) == (0 if result is REJECTED else 1)


def test_job_of_a_request_without_an_answer_is_looked_up(server):
    server.fail("POST", "jobs", Fault(cut="after"))
    assert result_of(started(server)) is OK
    assert [method for method, *_ in server.requests] == ["POST", "GET"]


def test_request_without_an_answer_is_unknown_if_no_look_helps(server):
    server.fail("POST", "jobs", Fault(cut="after"))
    server.fail("GET", "jobs", Fault(503))
    assert result_of(started(server)) is UNKNOWN
    assert result_of(started(server)) is OK
    assert len(server.of("jobs")) == 1


def test_server_that_is_down_has_received_nothing(server):
    server.close()
    assert result_of(started(server)) is RETRYABLE
    server.start()


def test_kronjob_that_does_not_exist_is_rejected(server):
    assert result_of(started(server, owners=Owners())) is REJECTED
    assert server.requests == []


def test_nothing_is_sent_before_all_kronjobs_are_known(server):
    answer = started(server, owners=Owners(is_complete=False))
    assert (answer.result, answer.retry_after_ms) == (LaunchResult.UNSENT, 1000)
    assert server.requests == []


@pytest.mark.parametrize("prefix", ["", "east/"])
def test_cancel_deletes_the_job_of_the_run_and_its_pods_first(server, prefix):
    launch = a_launch(job=replace(JOB, identity=f"{prefix}shop/report"))
    started(server, launch)
    uid = job_in(server)["metadata"]["uid"]
    used(server, lambda launcher: launcher.cancel(launch.run))
    assert server.of("jobs") == {}
    options = server.bodies[-1][1]
    assert (options["propagationPolicy"], options["preconditions"]) == ("Foreground", {"uid": uid})


def test_cancel_leaves_other_jobs_alone(server):
    launch = a_launch()
    started(server, launch)
    job_in(server)["metadata"]["ownerReferences"][0]["uid"] = "u-2"
    used(server, lambda launcher: launcher.cancel(launch.run))
    used(server, lambda launcher: launcher.cancel(launch.run), Owners())
    used(server, lambda launcher: launcher.cancel(a_launch(NOMINAL + 60).run))
    assert len(server.of("jobs")) == 1


def canceled(server, gone, seconds):
    """Whether a cancellation came to its end, with a watcher of the Job's end."""
    launch = a_launch()
    started(server, launch)

    async def main():
        async with connected(server.url) as api:
            launcher = KronJobLauncher(api, Owners(OWNER), gone=gone, cancel_seconds=seconds)
            await launcher.cancel(launch.run)

    asyncio.run(main())


def test_cancel_waits_until_the_job_is_gone(server):
    asked = []

    async def gone(place, uid):
        asked.append((place.name, uid))
        await asyncio.sleep(0)
        asked.append("gone")

    canceled(server, gone, 60.0)
    assert asked[-1] == "gone"
    assert len(asked) == 2


def test_cancel_ends_although_the_job_does_not_go(server):
    async def never(place, uid):
        await asyncio.Event().wait()

    canceled(server, never, 0.05)
    assert server.count("DELETE", "") == 1
