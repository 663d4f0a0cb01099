"""How commands and Jobs report while the store fails: a failover loses no report, and no time limit."""

import asyncio
import time
from dataclasses import replace

from kron.apps import wiring
from kron.engine.events import silent
from kron.errors import KronError
from kron.launchers.command import CommandLauncher
from kron.launchers.journal import Journal, ticks
from kron.rules.launch_result import Report
from kron.testing.clock import VirtualTimer
from kron.testing.loop import VirtualLoop
from kron.timing.job import Command
from kron.timing.schedule.policy import KRON, MILLISECOND, SECOND
from tests.launchers.making import a_launch


class Failing:
    """A registrar whose store fails over: until then it hangs, or raises."""

    def __init__(self, up, now, *, hangs=False):
        self.up, self.now, self.hangs, self.heard = up, now, hangs, []

    async def report(self, key, said):
        if self.now() < self.up:
            if self.hangs:
                await asyncio.sleep(self.up - self.now())
            raise ConnectionError("the database fails over")
        self.heard.append((said, self.now()))


def test_end_is_reported_after_a_failover_of_a_minute(monkeypatch):
    loop = VirtualLoop()
    registrar = Failing(150.0, loop.time)  # longer than the 91 seconds after which it was given up before
    monkeypatch.setattr(wiring, "Registrar", lambda store, sink: registrar)
    monkeypatch.setattr(wiring, "SystemTimer", lambda: VirtualTimer(loop))
    try:
        loop.run_until_complete(wiring._teller(None, silent)("key", Report.SUCCESS))
    finally:
        loop.abandon()
    ((said, at),) = registrar.heard
    assert said is Report.SUCCESS
    assert at - 150 <= 5


def test_report_of_a_run_that_nobody_knows_is_dropped(monkeypatch):
    class Unknown:
        async def report(self, key, said):
            raise KronError("NOT_FOUND", "there is no run")

    monkeypatch.setattr(wiring, "Registrar", lambda store, sink: Unknown())
    asyncio.run(wiring._teller(None, silent)("key", Report.SUCCESS))


def test_time_limit_is_kept_while_the_store_hangs(monkeypatch, tmp_path):
    """The command's own heartbeat must not wait for the store: nobody would end the command meanwhile."""
    registrar = Failing(time.monotonic() + 4, time.monotonic, hangs=True)
    monkeypatch.setattr(wiring, "Registrar", lambda store, sink: registrar)
    pid = tmp_path / "pid"
    command = Command(f"echo $$ > {pid}; exec sleep 60", timeout=SECOND)
    launch = a_launch(command=command, policy=replace(KRON, run_lease=600 * MILLISECOND))

    async def script():
        launcher = CommandLauncher(Journal(tmp_path / "journal"), wiring._teller(None, silent))
        began = time.monotonic()
        await launcher.start(launch)
        while not pid.exists() or not pid.read_text().strip() or ticks(int(pid.read_text())) is not None:
            await asyncio.sleep(0.02)
        killed = time.monotonic() - began
        while launcher.tasks:
            await asyncio.sleep(0.02)
        return killed

    killed = asyncio.run(script())
    assert 0.9 < killed < 3.5
    assert registrar.heard[-1][0] is Report.FAILED
