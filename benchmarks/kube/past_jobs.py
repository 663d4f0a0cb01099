"""Jobs of earlier periods that have ended: what a cluster keeps as history."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.kube.ender import ended
from benchmarks.kube.objects import all_of, asked
from kron.kube.api import Api
from kron.kube.kind import JOB, KRONJOB, Body, Place, place_of
from kron.kube.names import KRONJOB_LABEL, Owner, job_of
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of


def create_past_jobs(kubeconfig: Path, namespace: str, each: int) -> None:
    """Create Jobs until each KronJob of a namespace has so many."""

    async def use(api: Api) -> None:
        kronjobs = [body async for page in api.pages(KRONJOB, namespace) for body in page.items]
        have = dict.fromkeys((body["metadata"]["name"] for body in kronjobs), 0)
        async for page in api.pages(JOB, namespace):
            for job in page.items:
                have[job["metadata"]["labels"][KRONJOB_LABEL]] += 1
        wanted = [(body, number) for body in kronjobs for number in range(each - have[body["metadata"]["name"]])]
        await all_of([lambda body=body, number=number: _create(api, body, number) for body, number in wanted])

    asked(kubeconfig, use)


async def _create(api: Api, kronjob: Body, number: int) -> None:
    """Create the Job of a day before today, and let it end."""
    place, metadata = place_of(kronjob), kronjob["metadata"]
    owner = Owner(place, metadata["uid"], metadata["generation"], kronjob["spec"]["jobTemplate"])
    identity, nominal = f"{place.namespace}/{place.name}", int(time.time()) // 86_400 * 86_400 - (number + 1) * 86_400
    run = Run(key_of(identity, nominal), identity, nominal, 1, nominal * 1000, State.SUCCESS)
    body = job_of(owner, run)
    await api.create(JOB, place.namespace, body)
    await api.patch_status(JOB, Place(place.namespace, body["metadata"]["name"]), ended(nominal + 60))
