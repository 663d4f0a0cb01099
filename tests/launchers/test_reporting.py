"""How commands and Jobs report while the store fails: a failover loses no report, and no time limit."""

import asyncio
import time
from dataclasses import replace

import pytest

from kron.apps import wiring
from kron.engine.clock import ManualClock
from kron.engine.events import silent
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.process import ticks
from kron.rules.launch_result import Report
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.stores.memory import MemoryStore
from kron.testing.clock import VirtualTimer
from kron.testing.loop import VirtualLoop
from kron.timing.job import Command
from kron.timing.schedule.policy import KRON, MILLISECOND, SECOND
from tests.launchers.making import NOW, Ear, a_launch


class Failing(MemoryStore):
    """A store that fails over: until then it hangs, or raises."""

    def __init__(self, up, now, *, hangs=False):
        super().__init__(ManualClock(NOW / 1000))
        self.up, self.seconds, self.hangs, self.heard = up, now, hangs, []

    async def runs_by_key(self, keys):
        if self.seconds() < self.up:
            if self.hangs:
                await asyncio.sleep(self.up - self.seconds())
            raise ConnectionError("the database fails over")
        return await super().runs_by_key(keys)

    async def update_runs(self, changes, now):
        self.heard += [(change.after.state, self.seconds()) for change in changes]
        return await super().update_runs(changes, now)

    async def keep(self, launch):
        """Keep a run that was launched."""
        case = ScheduleState(launch.job, 1, 0, NOW)
        await self.commit([ScheduleUpdate(None, case)], NOW)
        self._put(launch.run._replace(state=State.ENQUEUED, outcome=Outcome.EXECUTED))


def test_end_is_reported_after_a_failover_of_a_minute(monkeypatch):
    loop = VirtualLoop()
    store, launch = Failing(150.0, loop.time), a_launch()  # longer than the 91 seconds after which it was given up
    monkeypatch.setattr(wiring, "SystemTimer", lambda: VirtualTimer(loop))
    try:
        loop.run_until_complete(store.keep(launch))
        loop.run_until_complete(wiring._reporter(store, silent)(launch.run.key, Report.SUCCESS))
    finally:
        loop.abandon()
    ((state, at),) = store.heard
    assert state is State.SUCCESS
    assert at - 150 <= 5


def test_report_of_a_run_that_nobody_knows_is_dropped():
    asyncio.run(wiring._reporter(MemoryStore(ManualClock(NOW / 1000)), silent)("key", Report.SUCCESS))


def test_time_limit_is_kept_while_the_store_hangs(tmp_path):
    """The command's own heartbeat must not wait for the store: nobody would end the command meanwhile."""
    store = Failing(time.monotonic() + 4, time.monotonic, hangs=True)
    pid = tmp_path / "pid"
    command = Command(f"echo $$ > {pid}; exec sleep 60", timeout=SECOND)
    launch = a_launch(command=command, policy=replace(KRON, run_lease=600 * MILLISECOND))

    async def script():
        launcher = CommandLauncher(Journal(tmp_path / "journal"), wiring._reporter(store, silent))
        await store.keep(launch)
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
    assert store.heard[-1][0] is State.FAILED


@pytest.mark.parametrize(("line", "state"), [("exit 3", State.FAILED), ("true", State.SUCCESS)])
def test_command_that_ended_while_no_worker_followed_it_ended_when_it_left_its_status(tmp_path, line, state):
    """Its worker is gone when it ends. A later worker finds its status one hour later."""
    store, launch = MemoryStore(ManualClock(time.time())), a_launch(command=Command(line))
    journal = Journal(tmp_path / "journal")
    status = journal.folder / f"{launch.run.key}.status"

    async def script():
        first = CommandLauncher(journal, Ear())
        begin = await store.now()
        await store.commit([ScheduleUpdate(None, ScheduleState(launch.job, 1, 0, begin))], begin)
        sent = launch.run._replace(state=State.ENQUEUED, outcome=Outcome.EXECUTED, sent=begin, changed=begin)
        store._put(sent)
        await first.start(launch)
        for task in first.tasks.values():
            task.cancel()
        async with asyncio.timeout(30):
            while not status.stat().st_size:
                await asyncio.sleep(0.01)
        left = status.stat().st_mtime_ns // 1_000_000
        store.clock.advance(3_600)
        second = CommandLauncher(journal, wiring._reporter(store, silent), beat=0.02)
        second.adopt()
        async with asyncio.timeout(30):
            while journal.unended():
                await asyncio.sleep(0.01)
        (run,), (attempts,) = await store.runs_by_key([launch.run.key]), await store.attempts([launch.run.key])
        return run, attempts, max(left, begin)

    run, attempts, left = asyncio.run(script())
    assert (run.state, run.finished) == (state, left)
    assert [each.duration for each in attempts] == ([left - run.sent] if state is State.FAILED else [])
