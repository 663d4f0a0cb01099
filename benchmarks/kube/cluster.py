"""Control plane for the benchmark: its API server keeps an audit log, and no controller runs that is not measured."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from tests.kube.cluster.control_plane import API_SERVER, CONTROLLERS, Cluster

from benchmarks.krond.process import Process

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata"}],
}
MAX_AUDIT_MEGABYTES = "4000"  # beyond which the API server would begin another file


class BenchmarkCluster(Cluster):
    """Control plane without controllers: Jobs have no pods, and end when the benchmark says so."""

    @property
    def audit_log(self) -> Any:
        """Path of the audit log."""
        return self.folder / "audit.log"

    def start_controllers(self) -> None:
        """Start none."""

    def put_in_database(self, values: Iterable[tuple[str, bytes]]) -> None:
        """Write to the database of the API server: pairs of a key and a value, one after the other."""
        with httpx2.Client(trust_env=False, timeout=30) as http:
            for key, value in values:
                put = {"key": b64encode(key.encode()).decode(), "value": b64encode(value).decode()}
                self._etcd("kv/put", put, http)

    @contextmanager
    def cronjob_controller(self) -> Iterator[Process]:
        """Run the CronJob controller with its default settings: 20 requests per second, 5 workers."""
        options = {
            "kubeconfig": self.kubeconfig,
            "secure-port": "0",
            "leader-elect": "false",
            "controllers": "cronjob",
        }
        self._start(CONTROLLERS, options)
        try:
            yield Process(self.processes.living[CONTROLLERS].pid)
        finally:
            self.processes.stop(CONTROLLERS)

    def _start(self, program: str, options: dict[str, Any]) -> None:
        if program == API_SERVER:
            policy = self.folder / "audit-policy.json"
            policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
            options = {
                **options,
                "audit-policy-file": policy,
                "audit-log-path": self.audit_log,
                "audit-log-maxsize": MAX_AUDIT_MEGABYTES,
            }
        super()._start(program, options)
