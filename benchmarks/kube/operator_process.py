"""`kron operator run` as a process with its default settings, and what the kernel says about it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.kube.cluster.control_plane import Cluster
from tests.kube.cluster.rights import kubeconfig_of_operator

from benchmarks.krond.process import Process

KRON = Path(sys.executable).with_name("kron")
START_SECONDS = 300.0  # at most, until the operator plans
NAMESPACE = "kron-system"
STARTED = "operator_started"


class OperatorProcess:
    """Operator with a SQLite store. It can be stopped and started again with its store."""

    def __init__(self, cluster: Cluster) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kron-bench-"))
        self.log = self.folder / "operator.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.began = 0.0  # when the process was started
        cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.kubeconfig = kubeconfig_of_operator(cluster, NAMESPACE, everywhere=True)

    def start(self, *options: str) -> None:
        """Start the operator, and wait until it plans."""
        words = ["operator", "run", "--store", f"sqlite:{self.folder / 'kron.db'}", "--log", "json", *options]
        size = self.log.stat().st_size if self.log.exists() else 0
        self.began = time.time()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", KRON, *words],  # ends with the benchmark
                env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        deadline = time.time() + START_SECONDS
        while not self._has_started(size):
            if self.process.poll() is not None or time.time() > deadline:
                raise SystemExit("FAIL: the operator did not start\n" + self.log.read_text(encoding="utf-8")[-3000:])
            time.sleep(0.05)

    def _has_started(self, offset: int) -> bool:
        with self.log.open("rb") as log:
            log.seek(offset)
            return STARTED.encode() in log.read()

    @property
    def figures(self) -> Process:
        """Figures of the process."""
        assert self.process is not None
        return Process(self.process.pid)

    def stop(self) -> None:
        """Stop the operator."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
            self.process = None

    def warnings(self) -> list[str]:
        """Return the lines of the log that tell of failures."""
        names = ("library_warning", "part_failed", "pass_failed", "launch_error")
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if any(name in line for name in names)]

    def close(self) -> None:
        """Stop the operator and remove its store."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder)
