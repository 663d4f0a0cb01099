"""`kron operator run` on a real cluster, with the rights that `kron operator manifests` gives it, and no others."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from kron.engine.clock import SystemClock
from kron.stores.sqlite import SqliteStore
from tests.kube.cluster.control_plane import TIMEOUT_SECONDS
from tests.kube.cluster.rights import kubeconfig_of_operator

KRON = Path(sys.executable).with_name("kron")


class OperatorProcess:
    """An operator of one namespace, or of all. It can be killed and started again with its store."""

    def __init__(self, cluster, namespace, folder, *options, everywhere=False):
        self.cluster, self.namespace, self.folder, self.options = cluster, namespace, folder, options
        self.store, self.log = folder / "operator.db", folder / "operator.log"
        self.process = None
        self.kubeconfig = kubeconfig_of_operator(cluster, namespace, everywhere=everywhere)
        self.scope = [] if everywhere else ["--namespaces", namespace]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()

    def start(self):
        """Start the operator, and wait until it plans."""
        words = ["operator", "run", "--store", f"sqlite:{self.store}", *self.scope, "--log", "json"]
        began = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", KRON, *words, *self.options],  # ends with the tests
                env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        self.until(lambda: "operator_started" in self.log.read_text(encoding="utf-8")[began:], "the operator started")

    def kill(self, sign=signal.SIGKILL):
        """End the operator."""
        self.process.send_signal(sign)
        self.process.wait(TIMEOUT_SECONDS)
        self.process = None

    def lose_store(self):
        """Remove the store."""
        for file in self.folder.glob(f"{self.store.name}*"):
            file.unlink()

    def until(self, condition, what):
        """Wait until a condition holds, and return what it found."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not (found := condition()):
            lines = self.log.read_text(encoding="utf-8").splitlines()[-20:]
            assert self.process is None or self.process.poll() is None, "\n".join(["the operator ended", *lines])
            assert time.monotonic() < deadline, "\n".join([f"not so in time: {what}", *lines])
            time.sleep(0.3)
        return found

    def runs(self, name):
        """The runs of a KronJob in the store, the oldest first. Read here: a command for each look takes a core."""
        return asyncio.run(self._runs(name))[::-1] if self.store.exists() else []

    async def _runs(self, name):
        store = SqliteStore(str(self.store), SystemClock())
        try:
            return await store.runs(f"{self.namespace}/{name}", 1000)
        finally:
            await store.close()

    def audit(self):
        """Let Kron account for every period."""
        words = ["audit", "--store", f"sqlite:{self.store}"]
        done = subprocess.run([KRON, *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
