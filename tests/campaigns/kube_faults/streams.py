"""Streams: a proxy cuts the watches of the operator, and answers instead of the API server."""

import time

import httpx2

from kron.kube.kind import JOB, KRONJOB
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from tests.campaigns.kube_faults.proxy import Fault
from tests.campaigns.kube_faults.world import ALLOW, YEARLY
from tests.kube.cluster.control_plane import TIMEOUT_SECONDS
from tests.kube.cluster.objects import kronjob
from tests.kube.cluster.pods import template
from tests.postgres import free_port

CUTS, CUT_SECONDS = 7, 3.0
STORM_SECONDS = 20.0  # of each of three kinds
MANY = 520  # KronJobs: more than a page
STORMS = (  # one request in four passes
    Fault(lambda request: request.method == "POST", 409, "Conflict", every=4),
    Fault(lambda request: True, 429, "TooManyRequests", "1", every=4),
    Fault(lambda request: True, 503, "ServiceUnavailable", "1", every=4),
)


def cut_watches(world):
    """Every end and every deletion is seen, although no watch lives for long."""
    proxy, operator = _with_long_job(world)
    for number in range(CUTS):
        time.sleep(CUT_SECONDS)
        proxy.cut_watches()
        if number == 3:
            (job, *_) = world.living_jobs("long")
            world.cluster.do("DELETE", JOB.path(world.namespace, job["metadata"]["name"]))
            proxy.cut_watches()
    world.ended(operator, "a", 2)
    _see_deletion(world, operator)


def _with_long_job(world):
    """A proxy and an operator behind it, with a KronJob that runs and one whose Job does not end."""
    proxy = world.proxy()
    operator = world.operator(proxy=proxy)
    world.put("a")
    world.put("long", "never", schedule="plus: */5 * * * * *")
    operator.start()
    operator.until(lambda: world.living_jobs("long"), "a Job")
    operator.until(lambda: [run for run in operator.runs("long") if run.outcome is Outcome.EXECUTED], "its record")
    return proxy, operator


def _see_deletion(world, operator):
    """Wait until the run of the Job that was deleted by hand has ended."""
    operator.until(
        lambda: [run for run in operator.runs("long") if run.state in (State.FAILED, State.LOST)],
        "the deletion of a Job is seen",
    )
    world.remove("long")
    count = operator.until(lambda: len(operator.runs("long")), "its runs")
    time.sleep(6)
    world.check(len(operator.runs("long")) <= count + 1, "a KronJob runs after its deletion")


def expired_watches(world):
    """What happened while no watch could be begun is told by a list."""
    proxy, operator = _with_long_job(world)
    proxy.refuse(True)
    (job, *_) = world.living_jobs("long")
    world.cluster.do("DELETE", JOB.path(world.namespace, job["metadata"]["name"]))
    proxy.faults = [Fault(lambda request: request.is_watch, 410, "Expired", every=3)]
    proxy.refuse(False)
    world.ended(operator, "a", 2)
    proxy.faults = []
    _see_deletion(world, operator)
    world.check(proxy.answered > 0, "no watch was answered with 410")


def expired_pages(world):
    """A list that expires between two pages is begun again. All KronJobs are known before anything is planned."""
    for number in range(MANY):
        body = kronjob(f"many-{number}", {"schedule": YEARLY, "jobTemplate": template()})
        world.cluster.do("POST", KRONJOB.path(world.namespace), body)
    world.put("a")
    proxy = world.proxy()
    proxy.faults = [Fault(lambda request: "continue" in request.query, 410, "Expired", every=3)]
    operator = world.operator(proxy=proxy)
    operator.start()
    world.ended(operator, "a", 1)
    ledger, _ = operator.ledger()
    world.check(len(ledger) == MANY + 1, f"{len(ledger)} schedules for {MANY + 1} KronJobs")
    world.check(proxy.answered == 2, f"{proxy.answered} pages were answered with 410")


def storm(world):
    """Most requests are refused for a while. No run is lost within its deadline, and the rate recovers."""
    proxy, port = world.proxy(), free_port()
    operator = world.operator("operator", "--listen", f"127.0.0.1:{port}", "--qps", "50", proxy=proxy)
    for name in ("a", "b"):
        world.put(name, policy={**ALLOW, "deadline": "2m"})
    operator.start()
    world.ended(operator, "a", 1)
    begun, rates = time.time(), []
    for fault in STORMS:
        proxy.faults = [fault]
        time.sleep(STORM_SECONDS)
        rates.append(_rate(port))
    proxy.faults, ended = [], time.time()
    world.check(rates[1] < 50, f"the rate is {rates[1]} after 429")
    operator.until(lambda: _rate(port) == 50, "the rate recovers", 2 * TIMEOUT_SECONDS)
    for name in ("a", "b"):
        world.change(name, policy={**ALLOW, "deadline": "2m", "suspend": True})
        operator.until(lambda name=name: not any(run.open for run in operator.runs(name)), "all runs end")
        late = [run for run in operator.runs(name) if begun <= run.nominal <= ended and run.state is not State.SUCCESS]
        world.check(not late, f"{len(late)} runs of the storm did not succeed: {late[:1]}")


def _rate(port):
    """Requests per second that the operator allows itself, as its metrics tell."""
    text = httpx2.get(f"http://127.0.0.1:{port}/metrics", timeout=30, trust_env=False).text
    (line,) = [line for line in text.splitlines() if line.startswith("kron_operator_api_rate ")]
    return float(line.split()[1])
