"""What is measured of the CronJob controller: a burst, the requests of a run, memory and idle CPU."""

from __future__ import annotations

import time

from benchmarks.krond.process import Process
from benchmarks.kube.audit import CRONJOB_CONTROLLER
from benchmarks.kube.figure import percentile
from benchmarks.kube.kron_side import AT_ONCE, ENDED_AFTER_SECONDS, KEEP, calls_of
from benchmarks.kube.objects import all_of, asked, cronjob, minute_line, name_of
from benchmarks.kube.world import World
from kron.kube.api import Api
from kron.kube.kind import CRONJOB, Place
from kron.timing.zone import rfc3339

BURST, CALLS = "cronjob-burst", "cronjob-calls"  # namespaces
MINUTE = 60
LEAD_SECONDS = 10.0  # of the CronJobs whose requests are counted


def measure(world: World) -> dict[str, float]:
    """Return all figures."""
    with world.cluster.cronjob_controller():
        figures = _calls(world)
    if world.sizes.is_short:
        return figures
    due = _next_minute(world.sizes.idle + 30)
    line = minute_line(due)
    bodies = [cronjob(name_of(number), line, **KEEP) for number in range(world.sizes.cronjobs)]
    world.put_many(bodies, world.namespace(BURST), CRONJOB)
    with world.cluster.cronjob_controller() as process:
        return figures | _idle(world, process) | _burst(world, due, BURST)


def _calls(world: World) -> dict[str, float]:
    """Count the requests of short runs from the creation of their Jobs to the deletion."""
    count, namespace = world.sizes.calls, world.namespace(CALLS)
    is_short = world.sizes.is_short
    due = time.time() // MINUTE * MINUTE if is_short else _next_minute(LEAD_SECONDS)
    bodies = [cronjob(name_of(number), minute_line(due), **AT_ONCE) for number in range(count)]
    world.put(bodies, namespace, CRONJOB)
    began = time.time() if is_short else due
    with world.ending(namespace, ENDED_AFTER_SECONDS):
        if is_short:
            _make_due(world, namespace, due)
        starts = _burst(world, began, namespace)
        world.wait_for_deletions(CRONJOB_CONTROLLER, began, namespace, count)
    calls = world.audit.since(began - 1, CRONJOB_CONTROLLER)
    runs = len(world.created(CRONJOB_CONTROLLER, began - 1, namespace))
    return calls_of(calls, runs) | (starts if is_short else {})


def _burst(world: World, due: float, namespace: str) -> dict[str, float]:
    """Wait for the Jobs of CronJobs that are due at one time."""
    count = world.sizes.calls if namespace == CALLS else world.sizes.cronjobs
    created = world.wait_for_jobs(CRONJOB_CONTROLLER, due, namespace, count, world.sizes.patience)
    late = created + [float("inf")] * (count - len(created))
    is_whole = len(created) == count
    return {
        "created": len(created),
        "last": max(late) if is_whole else world.sizes.patience,
        "is_whole": is_whole,
        "p50": percentile(late, 0.5),
    }


def _idle(world: World, process: Process) -> dict[str, float]:
    time.sleep(15 + world.sizes.settle)  # until the controller has its copies
    return {"rss": process.rss(), "idle": process.cpu_percent(world.sizes.idle)}


def _make_due(world: World, namespace: str, due: float) -> None:
    """Let CronJobs be due without waiting for their minute: they seem to have missed it."""
    status = {"lastScheduleTime": rfc3339(int(due) - 3600)}

    async def use(api: Api) -> None:
        places = [Place(namespace, name_of(number)) for number in range(world.sizes.calls)]
        await all_of([lambda place=place: api.patch_status(CRONJOB, place, status) for place in places])

    asked(world.cluster.kubeconfig, use)


def _next_minute(lead: float) -> float:
    return (time.time() + lead) // MINUTE * MINUTE + MINUTE
