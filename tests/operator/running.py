"""An operator in this process, with a store in a file, a simulated API server and a clock that the test moves."""

import asyncio
from contextlib import asynccontextmanager

from kron.apps.operator.cluster import watch_count
from kron.apps.operator.definition import OperatorDefaults
from kron.apps.operator.main import Operator
from kron.apps.operator.options import OperatorOptions
from kron.apps.operator.rbac import operator_rules
from kron.engine.audit import audit
from kron.engine.clock import ManualClock
from kron.engine.events import Memory
from kron.stores.sqlite import SqliteStore
from kron.timing.schedule.policy import SECOND
from kron.timing.zone import rfc3339
from tests.kube.conftest import connected
from tests.operator.specs import MINIMAL

START = 1_772_359_200  # 2026-03-01T10:00:00Z
PATIENCE_SECONDS = 60
ALLOWED = {  # privileges of the operator
    (resource, verb) for rule in operator_rules() for resource in rule["resources"] for verb in rule["verbs"]
}
UNSENT = {("kronjobs/finalizers", "update")}  # an admission plugin asks for it, and no request


async def until(condition, what=""):
    """Wait until a condition holds, for a long time."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := condition()):
            await asyncio.sleep(0.01)
    return found


class World:
    """A cluster, a store file and a clock. Several operators can run in it, one after the other."""

    def __init__(self, server, folder, **options):
        self.server, self.file, self.clock = server, folder / "kron.db", ManualClock(START + 5)
        self.options = OperatorOptions(store=f"sqlite:{self.file}", **options)

    def kronjob(self, name="report", *, spec=None, at=None, namespace="shop", **changes):
        """Create or change a KronJob, as a user does at a time."""
        at = int(self.clock.now()) if at is None else at
        managed = [{"manager": "kubectl", "time": rfc3339(at), "fieldsV1": {"f:spec": {}}}]
        metadata = {"managedFields": managed, "creationTimestamp": rfc3339(at), "annotations": {}}
        old = self.server.of("kronjobs").get((namespace, name))
        if old:
            metadata["creationTimestamp"] = old["metadata"]["creationTimestamp"]
        body = {"spec": {**MINIMAL, "schedule": "* * * * *", **(spec or {}), **changes}, "metadata": metadata}
        return self.server.put("kronjobs", namespace, name, body)

    def annotate(self, name="report", **annotations):
        """Give a KronJob annotations of Kron."""
        body = self.server.of("kronjobs")["shop", name]
        named = {f"kron.io/{key}": value for key, value in annotations.items()}
        metadata = {**body["metadata"], "annotations": named}
        self.server.put("kronjobs", "shop", name, {"spec": body["spec"], "metadata": metadata})

    @property
    def jobs(self):
        return self.server.of("jobs")

    def job_names(self):
        return sorted(name for _, name in self.jobs)

    def status(self, name="report"):
        return self.server.of("kronjobs")["shop", name].get("status") or {}

    def conditions(self, name="report"):
        return {each["type"]: each for each in self.status(name).get("conditions", ())}

    def reasons(self):
        return [body["reason"] for body in self.server.of("events").values()]

    def calls(self):
        """The privileges that the requests so far have needed."""
        verbs = {"POST": "create", "CHECK": "list"}
        found = set()
        for method, path, _ in self.server.requests:
            _, _, _, *rest = path.strip("/").split("/")
            names = rest[2:] if rest[0] == "namespaces" else rest
            resource = "/".join([names[0], *names[2:]])
            found.add((resource, verbs.get(method, method.lower())))
        return found

    def run(self, use):
        """Run an operator, use it, and kill it: nothing that it has begun is finished. The ledger is audited."""

        async def main():
            async with self.running() as life:
                result = await use(life)
                assert all([each.sound async for each in audit(life.store)])
                return result

        return asyncio.run(main())

    @asynccontextmanager
    async def running(self):
        async with connected(self.server.url, watches=watch_count(self.options.namespaces)) as api:
            store = SqliteStore(str(self.file), self.clock)
            sink = Memory()
            operator = Operator(api, store, self.options, sink, interval=0.02, clock=self.clock)
            task = asyncio.ensure_future(operator.run(asyncio.Event()))
            try:
                await until(lambda: operator.started.is_set() or task.done())
                yield Life(self, operator, store, sink)
            finally:
                task.cancel()
                await asyncio.wait({task})
                await store.close()


class Life:
    """A running operator."""

    def __init__(self, world, operator, store, sink):
        self.world, self.operator, self.store, self.sink = world, operator, store, sink

    async def pass_time(self, seconds):
        """Move the clock, and let the worker look at once."""
        self.world.clock.advance(seconds)
        self.operator.worker.notify()

    async def defined(self, name="report", *, revision=1):
        """Wait until a schedule has a revision."""

        async def look():
            (state,) = await self.store.get([f"shop/{name}"])
            return state if state and state.revision >= revision and not state.deleted else None

        return await self.until(look)

    async def is_deleted(self, name="report"):
        (state,) = await self.store.get([f"shop/{name}"])
        return state.deleted

    async def until(self, look):
        """Wait until a coroutine returns something."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := await look()):
                await asyncio.sleep(0.01)
        return found

    async def runs(self, name="report"):
        return await self.store.runs(f"shop/{name}", 100)

    async def ended(self, count=1, name="report"):
        """Wait until so many runs have ended, and return them, newest first."""

        async def look():
            runs = [run for run in await self.runs(name) if not run.open]
            return runs if len(runs) >= count else None

        return await self.until(look)


def defaults(seconds):
    """Options with a default deadline."""
    return {"defaults": OperatorDefaults(deadline=seconds * SECOND)}
