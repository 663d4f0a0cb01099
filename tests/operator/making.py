"""KronJobs and Jobs to try the parts of the operator with, without an API server."""

import asyncio

from kron.apps.operator.definition import OperatorDefaults
from kron.apps.operator.identities import Identities
from kron.apps.operator.job_record import job_record_of
from kron.apps.operator.kronjob import kronjob_of
from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.kube.kind import Place
from kron.kube.names import job_name, job_of
from kron.rules.plan import plan
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.update import update_of
from kron.stores.memory import MemoryStore
from kron.timing.key import key_of
from kron.timing.zone import rfc3339
from tests.operator.specs import MINIMAL

START = 1_772_359_200  # 2026-03-01T10:00:00Z
CREATED = START + 5
PLACE = Place("shop", "report")
IDENTITY = "shop/report"


def a_kronjob(name="report", *, at=CREATED, generation=1, uid="", status=None, annotations=None, **spec):
    """A KronJob that was changed at a time; `at=None`: the API server does not tell when."""
    managed = [] if at is None else [{"manager": "kubectl", "time": rfc3339(at), "fieldsV1": {"f:spec": {}}}]
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": uid or f"uid-{name}",
        "generation": generation,
        "creationTimestamp": rfc3339(CREATED),
        "managedFields": managed,
        "annotations": {f"kron.io/{key}": value for key, value in (annotations or {}).items()},
    }
    return kronjob_of(
        {"metadata": metadata, "spec": {**MINIMAL, "schedule": "* * * * *", **spec}, "status": status or {}}
    )


def a_job(nominal, end="", *, kronjob=None, trigger="", at=None):
    """The place and the record of the Job of a period."""
    kronjob = kronjob or a_kronjob()
    identity = f"shop/{kronjob.place.name}"
    run = Run(
        key_of(identity, 0 if trigger else nominal, trigger),
        identity,
        nominal,
        1,
        nominal * 1000,
        State.PENDING,
        trigger,
    )
    body = job_of(kronjob.owner, run)
    body["metadata"]["uid"] = f"job-{nominal}{trigger}"
    if end:
        ended = rfc3339(nominal + 30 if at is None else at)
        body["status"] = {"conditions": [{"type": end, "status": "True", "reason": "Why", "lastTransitionTime": ended}]}
    return Place("shop", job_name(kronjob.place.name, run.key)), job_record_of(body)


class Told(list):
    """Events that were told about KronJobs."""

    def __call__(self, kronjob, kind, reason, note):
        self.append((reason, note))

    def vanished(self, count, seconds):
        self.append(("Vanished", count))

    @property
    def reasons(self):
        return [reason for reason, _ in self]


class Ledger:
    """A store in memory, its clock, and what the parts of the operator need around it."""

    def __init__(self, now=CREATED):
        self.clock = ManualClock(now)
        self.store = MemoryStore(self.clock)
        self.registrar = Registrar(self.store)
        self.identities = Identities(OperatorDefaults())
        self.told = Told()

    async def state(self, identity=IDENTITY):
        (state,) = await self.store.get([identity])
        return state

    async def planned(self, at, identity=IDENTITY):
        """Move the clock, and commit what a worker plans then. It launches nothing."""
        self.clock.time = at
        found = plan(await self.state(identity), at * 1000, owner="dead", lease=30_000)
        assert await self.store.commit([update_of(found)], at * 1000) == [True]
        return found

    async def runs(self, identity=IDENTITY):
        return await self.store.runs(identity, 100)


def run_async(work):
    return asyncio.run(work)
