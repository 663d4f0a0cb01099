"""Operator of the campaign: any store, a proxy, a wrong clock, a fail point, or a protection less."""

import asyncio
import json
import os
import signal
import subprocess
import time

from kron.apps.wiring import open_store
from kron.engine.audit import audit
from kron.engine.clock import SystemClock
from tests.campaigns.chaos.faults import faketime
from tests.campaigns.kube_faults.nursery import Child
from tests.kube.cluster.control_plane import TIMEOUT_SECONDS
from tests.kube.cluster.operator_process import KRON, OperatorProcess

MAX_RUNS = 100_000
PAUSE_SECONDS = 0.2


class Offset:
    """Clock that is some seconds ahead."""

    def __init__(self, seconds):
        self.seconds = seconds

    def now(self):
        return SystemClock().now() + self.seconds


class Operator(OperatorProcess):
    """An operator process of a world."""

    def __init__(self, world, name, *options, store="", proxy=None, planted=""):
        folder = world.folder / name
        folder.mkdir(parents=True)
        self.cluster, self.namespace, self.folder = world.cluster, world.namespace, folder
        self.options, self.process = ("--default-deadline", "1h", *options), None
        self.store, self.log = folder / "operator.db", folder / "operator.log"
        self.url, self.planted = store or f"sqlite:{self.store}", planted
        self.kubeconfig = world.ground.kubeconfig if proxy is None else _proxied(world.ground.kubeconfig, folder, proxy)
        self.clock = folder / "clock"
        self.log.touch()
        self.set_clock(0)

    def start(self, point="", *, wait=True, faked=False):
        """Start the operator.

        Args:
            point: Fail point, such as `K13:1:kill`.
            wait: Whether to wait until it plans.
            faked: Whether its clock is that of `set_clock`.
        """
        words = ["operator", "run", "--store", self.url, "--namespaces", self.namespace, "--log", "json", *self.options]
        environment = {"KUBECONFIG": str(self.kubeconfig), "KRON_FAILPOINT": point, "KRON_PLANTED": self.planted}
        began = self.log.stat().st_size if self.log.exists() else 0
        self.process = self._start_faked(words, environment) if faked else Child(words, self.log, environment)
        if wait:
            self.until(lambda: self.has_started(began), "the operator started")

    def has_started(self, began=0):
        return b"operator_started" in self.log.read_bytes()[began:]

    def set_clock(self, seconds):
        """Set the clock of an operator whose clock is faked."""
        self.clock.write_text(f"{seconds:+d}", encoding="ascii")
        self.offset = seconds

    def stop(self):
        """Let the operator end what it has begun."""
        self.kill(signal.SIGTERM)

    def dies(self, seconds):
        """Whether the operator ends within some seconds. It is killed if it does not."""
        try:
            self.process.wait(seconds)
            self.process = None
            return True
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def ledger(self):
        """The runs of each KronJob, and the audits of the schedules."""
        return asyncio.run(self._ledger())

    async def _ledger(self):
        async with open_store(self.url, Offset(self.offset) if self.url.startswith("sqlite") else None) as store:
            names = await store.identities("", MAX_RUNS, f"{self.namespace}/")
            gone = await store.identities("", MAX_RUNS, f"{self.namespace}/", deleted=True)
            runs = {name.partition("/")[2]: (await store.runs(name, MAX_RUNS))[::-1] for name in (*names, *gone)}
            return runs, [each async for each in audit(store, names)]

    def runs(self, name):
        """The runs of a KronJob, the oldest first."""
        return asyncio.run(self._runs(name)) if self.has_store() else []

    async def _runs(self, name):
        async with open_store(self.url) as store:
            return (await store.runs(f"{self.namespace}/{name}", MAX_RUNS))[::-1]

    def has_store(self):
        return not self.url.startswith("sqlite") or self.store.exists()

    def until(self, condition, what, seconds=TIMEOUT_SECONDS):
        """Wait until a condition holds, and return what it found."""
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            lines = self.log.read_text(encoding="utf-8").splitlines()[-5:]
            assert self.process is None or self.process.poll() is None, "\n".join(["the operator ended", *lines])
            assert time.monotonic() < deadline, "\n".join([f"not so in time: {what}", *lines])
            time.sleep(PAUSE_SECONDS)
        return found

    def _start_faked(self, words, environment):
        """Start a process of its own: a library that sets the clock is loaded at its start."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", KRON, *words],
                env={**os.environ, **environment, **self._fake()},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )

    def _fake(self):
        false = {"LD_PRELOAD": str(faketime()), "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1"}
        return {**false, "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}


def _proxied(kubeconfig, folder, proxy):
    """A kubeconfig that leads through a proxy."""
    path, config = folder / "kubeconfig", json.loads(kubeconfig.read_text(encoding="utf-8"))
    config["clusters"][0]["cluster"] = {"server": proxy.url}
    path.write_text(json.dumps(config), encoding="utf-8")
    return path
