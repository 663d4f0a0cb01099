"""Operators without one of their protections. Each of these functions removes one from the process that calls it."""

import asyncio
from uuid import uuid4

PLAN_SECONDS = 4.0  # for which an operator without the start barrier plans before it reads the cluster


def random_names():
    """A Job has a new name with each attempt."""
    from kron.launchers import kronjob

    make = kronjob.job_of

    def job_of(owner, run, seed_hash=""):
        body = make(owner, run, seed_hash)
        body["metadata"]["name"] = f"{owner.place.name}-{uuid4().hex[:10]}"
        return body

    kronjob.job_of = job_of


def adopt_nothing():
    """Runs and Jobs are not compared."""
    from kron.apps.operator.adopt import Adopter

    async def adopt(self):
        return None

    Adopter.adopt = adopt


def date_nothing():
    """An edit counts from the time at which it is read."""
    from kron.apps.operator import sync

    sync.edit_ms = lambda kronjob: None


def start_at_once():
    """The worker plans before the KronJobs are defined and the Jobs adopted."""
    from kron.apps.operator.main import Operator

    start = Operator._start

    async def begin(self, stack):
        stop = asyncio.Event()
        worker = asyncio.ensure_future(self.worker.run(stop))
        await asyncio.sleep(PLAN_SECONDS)
        stop.set()
        await worker
        await start(self, stack)

    Operator._start = begin


PLANTED = {each.__name__: each for each in (random_names, adopt_nothing, date_nothing, start_at_once)}
