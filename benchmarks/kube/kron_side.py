"""What is measured of kron-operator: a burst, a window, the requests of a run, memory, and a restart."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from benchmarks.kube.audit import OPERATOR, AuditLog, Call
from benchmarks.kube.cluster import BenchmarkCluster
from benchmarks.kube.figure import percentile
from benchmarks.kube.objects import all_of, asked, kronjob, name_of, second_line
from benchmarks.kube.operator_process import OperatorProcess
from benchmarks.kube.past_jobs import create_past_jobs
from benchmarks.kube.sizes import Sizes
from kron.kube.api import Api
from kron.kube.failure import Refusal
from kron.kube.kind import JOB, KRONJOB, Body, Kind, Place, seconds_of
from kron.kube.names import CHOSEN

BURST, CALLS = "burst", "calls"  # namespaces
KEEP = {"successfulJobsHistoryLimit": 1000, "failedJobsHistoryLimit": 1000}
AT_ONCE = {"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0}  # Jobs are deleted when they have ended
LATE = {"policy": {"deadline": "10m", "concurrency": "allow"}}
DEADLINE_SECONDS = 10  # of the runs in the window
ATTEMPTS, CALLS_LEAD_SECONDS = 4, 20.0
ENDED_AFTER_SECONDS = "1"  # the life of a short Job
STATUS = "kronjobs/status"


class Starts(NamedTuple):
    """When the Jobs of a burst were created, in seconds after the time at which all were due."""

    created: list[float]
    doubled: int


class World:
    """One control plane, its audit log, and the sizes of the run."""

    def __init__(self, cluster: BenchmarkCluster, sizes: Sizes) -> None:
        self.cluster, self.sizes, self.audit = cluster, sizes, AuditLog(cluster.audit_log)

    def namespace(self, name: str) -> str:
        """Create a namespace."""
        self.cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def put(self, bodies: list[Body], namespace: str, kind: Kind = KRONJOB) -> None:
        """Create many objects, or change their specs."""

        async def write(api: Api, body: Body) -> None:
            try:
                await api.create(kind, namespace, body)
            except Refusal as refusal:
                if refusal.reason != "AlreadyExists":
                    raise
                await api.patch(kind, Place(namespace, body["metadata"]["name"]), {"spec": body["spec"]})

        async def use(api: Api) -> None:
            await all_of([lambda body=body: write(api, body) for body in bodies])

        asked(self.cluster.kubeconfig, use)

    def jobs(self, namespace: str) -> list[Body]:
        """Return the Jobs of a namespace."""

        async def use(api: Api) -> list[Body]:
            return [body async for page in api.pages(JOB, namespace) for body in page.items]

        return asked(self.cluster.kubeconfig, use)

    @contextmanager
    def ending(self, namespace: str, seconds: str) -> Iterator[None]:
        """Meanwhile Jobs of a namespace end some seconds after their creation."""
        words = [sys.executable, "-m", "benchmarks.kube.ender", self.cluster.kubeconfig, namespace, seconds]
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, words)])
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def created(self, agent: str, began: float, namespace: str) -> list[Call]:
        """Return the calls that have created a Job."""
        calls = self.audit.since(began, agent)
        return [call for call in calls if call.is_job_creation and call.namespace == namespace]

    def wait_for_jobs(self, agent: str, due: float, namespace: str, count: int, patience: float) -> Starts:
        """Wait until so many Jobs were created, and return when."""
        self.audit.until(lambda: time.time() > due, 3600)
        self.audit.until(lambda: len(self.created(agent, due - 1, namespace)) >= count, patience)
        calls = self.created(agent, due - 1, namespace)
        owners = Counter(call.name.rpartition("-")[0] for call in calls)
        return Starts([call.at - due for call in calls], sum(number - 1 for number in owners.values()))

    def wait_for_deletions(self, agent: str, began: float, namespace: str, count: int) -> None:
        """Wait until so many Jobs were deleted, and until nothing follows."""

        def deleted() -> int:
            calls = self.audit.since(began, agent)
            return sum(call.verb == "delete" and call.namespace == namespace for call in calls)

        self.audit.until(lambda: deleted() >= count, 300)
        self.audit.quiet(agent, began)


def burst(world: World, operator: OperatorProcess) -> dict[str, float]:
    """Let all KronJobs be due in one second."""
    sizes, namespace = world.sizes, world.namespace(BURST)

    def write(due: float) -> None:
        bodies = [kronjob(name_of(number), second_line(due), **KEEP, **LATE) for number in range(sizes.jobs)]
        world.put(bodies, namespace)
        world.audit.quiet(OPERATOR, time.time())
        if not sizes.is_short:
            operator.stop()
            operator.start()  # without what the creation has left behind

    due = _due_after(world, write, sizes.lead)
    process = operator.figures
    time.sleep(min(sizes.settle, due - 1 - time.time()))
    rss, cpu = process.rss(), process.cpu()
    starts = world.wait_for_jobs(OPERATOR, due, BURST, sizes.jobs, 300)
    cpu = process.cpu() - cpu
    last = world.audit.quiet(OPERATOR, due)
    statuses = [call for call in world.audit.since(due - 1, OPERATOR) if call.resource == STATUS]
    return {
        "created": len(starts.created),
        "doubled": starts.doubled,
        "last": max(starts.created, default=float("inf")),
        "cpu_ms": cpu / max(1, len(starts.created)) * 1000,
        "settled": last - due,
        "rss": rss,
        "status_writes": len(statuses) / max(1, len(starts.created)),
        "close_writes": _close_writes(statuses),
        "p50": percentile(starts.created, 0.5),
    }


def window(world: World) -> dict[str, float]:
    """Spread the runs of all KronJobs over a window, with a short deadline."""
    sizes, policy = world.sizes, {"deadline": f"{DEADLINE_SECONDS}s", "concurrency": "allow"}

    def write(due: float) -> None:
        line = second_line(due, f"@win(after,{sizes.window}s)")
        world.put([kronjob(name_of(number), line, policy=policy) for number in range(sizes.jobs)], BURST)

    due = _due_after(world, write, sizes.lead)
    end = due + sizes.window + DEADLINE_SECONDS + 1
    world.audit.until(lambda: len(world.created(OPERATOR, due, BURST)) >= sizes.jobs, end - time.time())
    chosen = {
        body["metadata"]["name"]: seconds_of(body["metadata"]["annotations"][CHOSEN]) for body in world.jobs(BURST)
    }
    calls = world.created(OPERATOR, due, BURST)
    lateness = [call.at - chosen[call.name] for call in calls]
    statuses = [call for call in world.audit.since(due, OPERATOR) if call.resource == STATUS]
    return {
        "missed": sizes.jobs - len({call.name for call in calls}),
        "early": sum(seconds < 0 for seconds in lateness),
        "p99": percentile(lateness, 0.99),
        "p50": percentile(lateness, 0.5),
        "close_writes": _close_writes(statuses),
    }


def calls(world: World) -> dict[str, float]:
    """Count the requests of short runs from the creation of their Jobs to the deletion."""
    count, namespace = world.sizes.calls, world.namespace(CALLS)

    def write(due: float) -> None:
        bodies = [kronjob(name_of(number), second_line(due), **AT_ONCE, **LATE) for number in range(count)]
        world.put(bodies, namespace)

    due = _due_after(world, write, min(CALLS_LEAD_SECONDS, world.sizes.lead))
    with world.ending(CALLS, ENDED_AFTER_SECONDS):
        world.wait_for_jobs(OPERATOR, due, CALLS, count, 120)
        world.wait_for_deletions(OPERATOR, due, CALLS, count)
    return calls_of(world.audit.since(due - 1, OPERATOR), len(world.created(OPERATOR, due - 1, CALLS)))


def calls_of(calls: list[Call], runs: int) -> dict[str, float]:
    """Return the requests for each run, by kind."""
    verbs = Counter(f"{call.verb} {call.resource}" for call in calls)
    statuses = [call for call in calls if call.resource.endswith("/status")]
    return {
        "runs": runs,
        "all": len(calls) / max(1, runs),
        "status": len(statuses) / max(1, runs),
        "deletes": verbs["delete jobs"] / max(1, runs),
        **{f"calls {name}": number / max(1, runs) for name, number in verbs.items()},
    }


def size(world: World, operator: OperatorProcess) -> dict[str, float]:
    """Measure memory, idle CPU and a restart with all KronJobs, each with some ended Jobs."""
    sizes = world.sizes
    with world.ending(BURST, "0"):
        began = time.time()
        poll = 1 if sizes.is_short else 10
        world.audit.until(
            lambda: all("completionTime" in job.get("status", {}) for job in world.jobs(BURST)), 900, poll
        )
    world.audit.quiet(OPERATOR, began)
    operator.stop()
    create_past_jobs(world.cluster.kubeconfig, BURST, sizes.jobs_each)
    entered = 0.0
    if not sizes.is_short:
        operator.start()  # learns of the Jobs that its store does not know
        entered = time.time() - operator.began
        world.audit.quiet(OPERATOR, operator.began)
    restart = _restart(world, operator)
    world.audit.quiet(OPERATOR, operator.began)
    time.sleep(sizes.settle)
    process = operator.figures
    return {
        "jobs": len(world.jobs(BURST)),
        "rss": process.rss(),
        "idle": process.cpu_percent(sizes.idle),
        "restart": restart,
        "entered": entered,
    }


def _restart(world: World, operator: OperatorProcess) -> float:
    """Return the seconds from a start of the process to the Job of a period that was due before."""
    operator.stop()
    probe = kronjob("probe", second_line(time.time() + 2), **LATE)
    world.put([probe], world.namespace("probe"))
    time.sleep(4)
    operator.start()
    world.audit.until(lambda: bool(world.created(OPERATOR, operator.began, "probe")), 300)
    made = world.created(OPERATOR, operator.began, "probe")
    return made[0].at - operator.began if made else float("inf")


def _close_writes(calls: list[Call]) -> int:
    """Return how often the status of a KronJob was written again within 1.9 s."""
    times = defaultdict[tuple[str, str], list[float]](list)
    for call in calls:
        times[call.namespace, call.name].append(call.at)
    return sum(after - before < 1.9 for each in times.values() for before, after in pairwise(sorted(each)))


def _due_after(world: World, write: Callable[[float], None], lead: float) -> float:
    """Write KronJobs that are due together, and return when. The operator is idle again before that."""
    for _ in range(ATTEMPTS):
        began = time.time()
        due = int(began + lead) + 1
        write(due)
        world.audit.quiet(OPERATOR, began)
        if time.time() < due - 1:
            return due
        lead = 1.5 * (time.time() - began)  # the machine is busy
    raise SystemExit("FAIL: the operator was never idle before its KronJobs were due")
