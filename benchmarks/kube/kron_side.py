"""What is measured of kron-operator: a burst, a window, the requests of a run, memory, and a restart."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

from benchmarks.kube.audit import OPERATOR, Call
from benchmarks.kube.figure import percentile
from benchmarks.kube.objects import kronjob, name_of, second_line
from benchmarks.kube.operator_process import OperatorProcess
from benchmarks.kube.past_jobs import create_past_jobs, end_all
from benchmarks.kube.world import World
from kron.kube.kind import JOB, seconds_of
from kron.kube.names import CHOSEN, KRONJOB_LABEL, PERIOD_ID, job_name
from kron.timing.key import key_of

BURST, CALLS = "burst", "calls"  # namespaces
KEEP = {"successfulJobsHistoryLimit": 1000, "failedJobsHistoryLimit": 1000}
AT_ONCE = {"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0}  # Jobs are deleted when they have ended
LATE = {"policy": {"deadline": "10m", "concurrency": "allow"}}
DEADLINE_SECONDS = 10  # of the runs in the window
ATTEMPTS, CALLS_LEAD_SECONDS = 4, 20.0
ENDED_AFTER_SECONDS = "0.5"  # the life of a short Job
STATUS = "kronjobs/status"


def burst(world: World, operator: OperatorProcess) -> dict[str, float]:
    """Let all KronJobs be due in one second."""
    sizes, namespace = world.sizes, world.namespace(BURST)

    def write(due: float) -> None:
        operator.stop()
        bodies = [kronjob(name_of(number), second_line(due), **KEEP, **LATE) for number in range(sizes.jobs)]
        world.put_many(bodies, namespace)
        operator.start()

    due = _due_after(world, write, sizes.lead, BURST, sizes.jobs)
    process = operator.figures
    time.sleep(min(sizes.settle, due - 1 - time.time()))
    rss, cpu = process.rss(), process.cpu()
    created = world.wait_for_jobs(OPERATOR, due, BURST, _names_of_jobs(BURST, sizes.jobs, due), 300)
    cpu = process.cpu() - cpu
    last = world.audit.quiet(OPERATOR, due)
    statuses = [call for call in world.audit.since(due - 1, OPERATOR) if call.resource == STATUS]
    return {
        "created": len(created),
        "last": max(created, default=float("inf")),
        "cpu_ms": cpu / max(1, len(created)) * 1000,
        "settled": last - due,
        "rss": rss,
        "status_writes": len(statuses) / max(1, len(created)),
        "close_writes": _close_writes(statuses),
        "p50": percentile(created, 0.5),
    }


def window(world: World) -> dict[str, float]:
    """Spread the runs of all KronJobs over a window, with a short deadline."""
    sizes, policy = world.sizes, {"deadline": f"{DEADLINE_SECONDS}s", "concurrency": "allow"}

    def write(due: float) -> None:
        line = second_line(due, f"@win(after,{sizes.window}s)")
        world.put_many([kronjob(name_of(number), line, **KEEP, policy=policy) for number in range(sizes.jobs)], BURST)

    due = _due_after(world, write, sizes.lead, BURST, sizes.jobs)
    end = due + sizes.window + DEADLINE_SECONDS + 1
    created = world.wait_for_jobs(OPERATOR, due, BURST, _names_of_jobs(BURST, sizes.jobs, due), end - due)
    jobs = world.objects(JOB, BURST)
    chosen = {job["metadata"]["name"]: seconds_of(job["metadata"]["annotations"][CHOSEN]) for job in jobs}
    names = _names_of_jobs(BURST, sizes.jobs, due)
    calls = [call for call in world.created(OPERATOR, due, BURST) if call.name in names]
    lateness = [call.at - chosen[call.name] for call in calls]
    periods = Counter(
        (job["metadata"]["labels"][KRONJOB_LABEL], job["metadata"]["annotations"][PERIOD_ID]) for job in jobs
    )
    statuses = [call for call in world.audit.since(due, OPERATOR) if call.resource == STATUS]
    return {
        "missed": sizes.jobs - len(created),
        "doubled": sum(number - 1 for number in periods.values()),
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

    due = _due_after(world, write, min(CALLS_LEAD_SECONDS, world.sizes.lead), namespace, count)
    with world.ending(CALLS, ENDED_AFTER_SECONDS):
        world.wait_for_jobs(OPERATOR, due, CALLS, _names_of_jobs(CALLS, count, due), 120)
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
    began = time.time()
    end_all(world, BURST)
    world.audit.quiet(OPERATOR, began)
    operator.stop()
    create_past_jobs(world, BURST, sizes.jobs_each)
    entered = 0.0
    if not sizes.is_short:
        operator.start("--events", "none")  # enters the Jobs that its store does not know
        entered = time.time() - operator.began
        world.audit.quiet(OPERATOR, operator.began)
    restart = _restart(world, operator)
    lists = [call.at for call in world.audit.read() if call.verb == "list" and call.at >= operator.began]
    world.audit.quiet(OPERATOR, operator.began)
    time.sleep(sizes.settle)
    process = operator.figures
    return {
        "jobs": len(world.objects(JOB, BURST)),
        "rss": process.rss(),
        "idle": process.cpu_percent(sizes.idle),
        "restart": restart,
        "lists": max(lists) - operator.began,
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


def _due_after(world: World, write: Callable[[float], None], lead: float, namespace: str, count: int) -> int:
    """Write KronJobs that are due together, and return when. Before that, the operator has written their statuses."""
    for _ in range(ATTEMPTS):
        began = time.time()
        due = int(began + lead) + 1
        write(due)
        world.audit.until(lambda began=began: len(_names_with_status(world, began, namespace)) >= count, 900)
        world.audit.quiet(OPERATOR, began)
        if time.time() < due - 1:
            return due
        lead = 1.5 * (time.time() - began)  # the machine is busy
    raise SystemExit("FAIL: the operator was never idle before its KronJobs were due")


def _names_with_status(world: World, began: float, namespace: str) -> set[str]:
    calls = world.audit.since(began, OPERATOR)
    return {call.name for call in calls if call.resource == STATUS and call.namespace == namespace}


def _names_of_jobs(namespace: str, count: int, due: int) -> set[str]:
    """Return the names that the Jobs of a period must have."""
    names = map(name_of, range(count))
    return {job_name(name, key_of(f"{namespace}/{name}", due)) for name in names}
