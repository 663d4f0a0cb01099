"""Control plane for the benchmark: its API server keeps an audit log, and no controller runs that is not measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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

    def change_database(self, transaction: dict[str, Any]) -> None:
        """Write to the database of the API server."""
        self._etcd("kv/txn", transaction)

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
