"""Jobs that have ended: what a cluster keeps as history."""

from __future__ import annotations

import time
from collections import Counter

from benchmarks.kube.database import created, write
from benchmarks.kube.ender import ended
from benchmarks.kube.world import World
from kron.kube.kind import JOB, KRONJOB, Body, place_of
from kron.kube.names import KRONJOB_LABEL, Owner, job_of
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of

DAY = 86_400


def end_all(world: World, namespace: str) -> None:
    """Let all Jobs of a namespace end."""
    status = ended(time.time())
    running = [job for job in world.objects(JOB, namespace) if not job.get("status", {}).get("completionTime")]
    for job in running:
        del job["metadata"]["resourceVersion"]
    write(world.cluster, JOB, namespace, [{**job, "status": status} for job in running])


def create_past_jobs(world: World, namespace: str, each: int) -> None:
    """Create Jobs that have ended until each KronJob of a namespace has so many."""
    have = Counter(job["metadata"]["labels"][KRONJOB_LABEL] for job in world.objects(JOB, namespace))
    jobs = [
        _past_job(kronjob, number)
        for kronjob in world.objects(KRONJOB, namespace)
        for number in range(each - have[kronjob["metadata"]["name"]])
    ]
    write(world.cluster, JOB, namespace, jobs)


def _past_job(kronjob: Body, number: int) -> Body:
    """Return the Job of a day before today."""
    place, metadata = place_of(kronjob), kronjob["metadata"]
    owner = Owner(place, metadata["uid"], metadata["generation"], kronjob["spec"]["jobTemplate"])
    identity, nominal = f"{place.namespace}/{place.name}", int(time.time()) // DAY * DAY - (number + 1) * DAY
    run = Run(key_of(identity, nominal), identity, nominal, 1, nominal * 1000, State.SUCCESS)
    return {**created(JOB, place.namespace, job_of(owner, run)), "status": ended(nominal + 60)}
