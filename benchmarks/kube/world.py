"""One control plane, its audit log, and what is asked of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.kube.audit import AuditLog, Call
from benchmarks.kube.cluster import BenchmarkCluster
from benchmarks.kube.database import created, edited, write
from benchmarks.kube.objects import all_of, asked
from benchmarks.kube.sizes import Sizes
from kron.kube.api import Api
from kron.kube.failure import Refusal
from kron.kube.kind import KRONJOB, Body, Kind, Place


class World:
    """One control plane, its audit log, and the sizes of the run."""

    def __init__(self, cluster: BenchmarkCluster, sizes: Sizes) -> None:
        self.cluster, self.sizes, self.audit = cluster, sizes, AuditLog(cluster.audit_log)

    def namespace(self, name: str) -> str:
        """Create a namespace."""
        self.cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def put(self, bodies: list[Body], namespace: str, kind: Kind = KRONJOB) -> None:
        """Create objects, or change their specs, by requests."""

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

    def put_many(self, bodies: list[Body], namespace: str, kind: Kind = KRONJOB) -> None:
        """Create objects, or change their specs, in the database."""
        old = {body["metadata"]["name"]: body for body in self.objects(kind, namespace)}
        new = [
            edited(kind, old[name], body["spec"])
            if (name := body["metadata"]["name"]) in old
            else created(kind, namespace, body)
            for body in bodies
        ]
        write(self.cluster, kind, namespace, new)

    def objects(self, kind: Kind, namespace: str) -> list[Body]:
        """Return the objects of a namespace, as the API server has them."""

        async def use(api: Api) -> list[Body]:
            found = [body async for page in api.pages(kind, namespace) for body in page.items]
            return [{"apiVersion": kind.api_version, "kind": kind.name, **body} for body in found]

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

    def wait_for_jobs(
        self, agent: str, due: float, namespace: str, wanted: int | set[str], patience: float
    ) -> list[float]:
        """Wait for Jobs: so many, or those of some names. Returns when they were created, in seconds after `due`."""
        count = wanted if isinstance(wanted, int) else len(wanted)

        def created() -> list[float]:
            calls = self.created(agent, due - 1, namespace)
            return [call.at - due for call in calls if isinstance(wanted, int) or call.name in wanted]

        self.audit.until(lambda: time.time() > due, 3600)
        self.audit.until(lambda: len(created()) >= count, patience)
        return created()

    def wait_for_deletions(self, agent: str, began: float, namespace: str, count: int) -> None:
        """Wait until so many Jobs were deleted, and until nothing follows."""

        def deleted() -> int:
            calls = self.audit.since(began, agent)
            return sum(call.verb == "delete" and call.namespace == namespace for call in calls)

        self.audit.until(lambda: deleted() >= count, 300)
        self.audit.quiet(agent, began)
