"""`kron operator run` on a real cluster, with the rights that the operator needs and no others."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from kron.engine.clock import SystemClock
from kron.stores.sqlite import SqliteStore
from tests.kube.cluster.control_plane import OPERATOR, TIMEOUT_SECONDS

KRON = Path(sys.executable).with_name("kron")
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
RULES = [
    {"apiGroups": ["kron.io"], "resources": ["kronjobs"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["kron.io"], "resources": ["kronjobs/status"], "verbs": ["patch"]},
    {"apiGroups": ["kron.io"], "resources": ["kronjobs/finalizers"], "verbs": ["update"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
]


def allow_operator(cluster):
    """Give the user of the operator its rights, once."""
    if cluster.request("GET", f"{ROLES}/{OPERATOR}").is_success:
        return
    metadata = {"name": OPERATOR}
    cluster.do("POST", ROLES, {"metadata": metadata, "rules": RULES})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": OPERATOR}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": OPERATOR}
    cluster.do("POST", BINDINGS, {"metadata": metadata, "roleRef": role, "subjects": [user]})


class OperatorProcess:
    """An operator of one namespace. It can be killed and started again with its store."""

    def __init__(self, cluster, namespace, folder, *options):
        self.cluster, self.namespace, self.folder, self.options = cluster, namespace, folder, options
        self.store, self.log = folder / "operator.db", folder / "operator.log"
        self.process = None
        allow_operator(cluster)

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
        words = ["operator", "run", "--store", f"sqlite:{self.store}", "--namespaces", self.namespace, "--log", "json"]
        began = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", KRON, *words, *self.options],  # ends with the tests
                env={**os.environ, "KUBECONFIG": str(self.cluster.operator_kubeconfig)},
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
