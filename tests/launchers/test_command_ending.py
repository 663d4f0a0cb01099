"""How commands are ended: asked first, killed after a grace, with everything that they started, by any worker."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kron.launchers.command import ending, process
from kron.launchers.command.journal import Entry, Journal, Limits
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.process import Process, boot, ticks
from kron.launchers.command.session import Session
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.job import Command
from kron.timing.schedule.policy import KRON, MILLISECOND, SECOND, Overlap
from tests.launchers.making import NOMINAL, Ear, a_launch, result_of

TIMED_OUT = "the command exceeded its timeout and was killed"


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal")


async def until(what, seconds=20):
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.01)


async def ended(launcher):
    await until(lambda: not launcher.tasks)


def number_in(path):
    """The number in a file, when it has been written."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None


def line_that_cleans_up(up, out, status=7):
    """A command that takes half a second to clean up when it is asked to end."""
    trap = f"sleep 0.5; echo cleaned >> {out}; exit {status}"
    return f"exec 2>/dev/null; trap '{trap}' TERM; echo $$ > {up}; while :; do sleep 0.05; done"


def line_that_stays(up):
    """A command that ignores that it is asked to end."""
    return f"exec 2>/dev/null; trap '' TERM; echo $$ > {up}; while :; do sleep 0.05; done"


def test_canceled_command_has_ended_when_its_end_is_reported(journal, tmp_path):
    """The keeper survives the signal: otherwise the end is reported while the command still cleans up."""
    up, out, ear = tmp_path / "up", tmp_path / "out", Ear()
    launch = a_launch(command=Command(line_that_cleans_up(up, out)))

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(launch)
        await until(up.exists)
        await launcher.cancel(launch.run)
        assert out.read_text() == "cleaned\n"  # cancel waits, so that the run in its place can start
        await ended(launcher)

    asyncio.run(script())
    assert ear.ends == [(Report.FAILED, 7, "")]


@pytest.mark.parametrize(("name", "status"), [("KILL", 137), ("TERM", 143), ("SEGV", 139)])
def test_signal_that_killed_a_command_is_reported(journal, name, status):
    ear = Ear()

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(a_launch(command=Command(f"kill -{name} $$")))
        await ended(launcher)

    asyncio.run(script())
    assert ear.ends == [(Report.FAILED, status, f"the shell reported SIG{name}")]


def test_command_that_signals_its_own_group_leaves_its_status(journal):
    ear = Ear()

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(a_launch(command=Command("trap '' HUP INT QUIT TERM; kill -TERM 0; kill -HUP 0; exit 5")))
        await ended(launcher)

    asyncio.run(script())
    assert ear.ends == [(Report.FAILED, 5, "")]


def test_command_that_ignores_its_timeout_is_killed_after_the_grace(journal, tmp_path):
    up, ear, began = tmp_path / "up", Ear(), time.monotonic()
    command = Command(line_that_stays(up), timeout=SECOND, grace=SECOND)

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(a_launch(command=command))
        await ended(launcher)

    asyncio.run(script())
    assert time.monotonic() - began >= 2.0
    assert ear.ends == [(Report.FAILED, 137, TIMED_OUT)]
    assert ticks(number_in(up)) is None


def test_grace_of_a_command_is_ten_seconds_unless_it_says_otherwise():
    assert ending.grace_of(Entry()) == 10_000
    assert ending.grace_of(Entry(grace=0)) == 0


@pytest.mark.parametrize("leaves", ["setsid sh", "sh"], ids=["another session", "background"])
def test_what_a_command_started_is_ended_with_it(journal, tmp_path, leaves):
    """Also a process that has left the session, and that ignores that it is asked."""
    child, ear = tmp_path / "child", Ear()
    inner = f'trap "" TERM; echo $$ > {child}; while :; do sleep 0.05; done'
    command = Command(f"{leaves} -c '{inner}' & sleep 60", timeout=SECOND, grace=3 * SECOND)

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(a_launch(command=command))
        await until(lambda: number_in(child) is not None)
        assert ticks(number_in(child)) is not None
        await ended(launcher)

    asyncio.run(script())
    assert ear.ends[-1] == (Report.FAILED, 143, TIMED_OUT)
    assert ticks(number_in(child)) is None


def test_what_a_command_left_running_stays_when_it_ends_by_itself(journal, tmp_path):
    child, ear = tmp_path / "child", Ear()

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(a_launch(command=Command(f"setsid sleep 60 & echo $! > {child}")))
        await ended(launcher)

    asyncio.run(script())
    try:
        assert ear.ends == [(Report.SUCCESS, 0, "")]
        assert ticks(number_in(child)) is not None
    finally:
        os.kill(number_in(child), signal.SIGKILL)


def test_processes_of_other_runs_are_not_members():
    """The search finds a session and a key, and nothing that only looks alike."""
    pairs = [("abc", "1-2"), ("abcd", "1-2"), ("abc", "1-3")]  # the last one is of another store on this host
    processes = [
        subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "KRON_KEY": key, "KRON_JOURNAL": journal})
        for key, journal in pairs
    ]
    try:
        assert Session(1 << 22, "abc", "1-2").members() == [processes[0].pid]
        assert Session(1 << 22, "ab", "1-2").members() == []
    finally:
        for each in processes:
            each.kill()
            each.wait()


def test_command_of_another_worker_is_canceled(journal, tmp_path):
    """The schedule may have moved to another worker of the host since the command began."""
    up, out, ear = tmp_path / "up", tmp_path / "out", Ear()
    launch = a_launch(command=Command(line_that_cleans_up(up, out)))

    async def script():
        first, second = CommandLauncher(journal, ear), CommandLauncher(Journal(journal.folder), Ear())
        await first.start(launch)
        await until(up.exists)
        await second.cancel(launch.run)
        assert out.read_text() == "cleaned\n"
        await ended(first)

    asyncio.run(script())
    assert ear.ends == [(Report.FAILED, 7, "")]


def test_cancel_of_a_run_that_this_host_does_not_know_does_nothing(journal):
    asyncio.run(CommandLauncher(journal, Ear()).cancel(a_launch().run))


@pytest.mark.parametrize("patience", [5.0, 0.1])
def test_run_starts_after_the_command_that_it_replaces_has_ended(journal, tmp_path, patience):
    """Even if the dispatcher did not wait for the cancellation: the later command waits, or is certainly not begun."""
    up, out, policy = tmp_path / "up", tmp_path / "out", replace(KRON, overlap=Overlap.REPLACE)
    first = a_launch(command=Command(line_that_cleans_up(up, out)), policy=policy)
    second = a_launch(command=Command(f"echo second >> {out}"), policy=policy, nominal=NOMINAL + 60)

    async def script():
        launcher = CommandLauncher(journal, Ear())
        launcher.patience = patience
        await launcher.start(first)
        await until(up.exists)
        cancellation = asyncio.create_task(launcher.cancel(first.run))
        await until(lambda: launcher.endings.by_key)
        cancellation.cancel()
        answer = result_of(await launcher.start(second))
        await ended(launcher)
        return answer

    if patience > 1:
        assert asyncio.run(script()) is LaunchResult.OK
        assert out.read_text() == "cleaned\nsecond\n"
    else:
        assert asyncio.run(script()) is LaunchResult.UNSENT
        assert out.read_text() == "cleaned\n"
        assert journal.look(second.run.key) is None


WORKER = """
import asyncio, sys
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.timing.job import Command
from tests.launchers.making import Ear, a_launch

async def main(folder, line, timeout, grace):
    launcher = CommandLauncher(Journal(folder), Ear())
    await launcher.start(a_launch(command=Command(line, timeout=int(timeout), grace=int(grace))))
    print("started", flush=True)
    await asyncio.sleep(60)

asyncio.run(main(*sys.argv[1:]))
"""


def killed_worker(folder, command, dies):
    """A worker in a process of its own, which is killed when `dies` has become true."""
    arguments = [sys.executable, "-c", WORKER, str(folder), command.line, str(command.timeout), str(command.grace)]
    worker = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout.readline() == "started\n"
        asyncio.run(until(dies))
    finally:
        worker.kill()
        worker.communicate()


def test_timeout_of_a_killed_workers_command_is_kept_by_the_next_worker(journal, tmp_path):
    up, ear = tmp_path / "up", Ear()
    command = Command(line_that_stays(up), timeout=2 * SECOND, grace=SECOND // 2)
    killed_worker(journal.folder, command, up.exists)

    async def adopted():
        launcher = CommandLauncher(journal, ear, beat=0.02)
        launcher.adopt()
        assert ticks(number_in(up)) is not None
        await ended(launcher)

    asyncio.run(adopted())
    assert ear.ends[-1] == (Report.FAILED, 137, TIMED_OUT)
    assert ticks(number_in(up)) is None


def test_worker_that_runs_already_keeps_the_timeout_of_a_killed_workers_command(journal, tmp_path, monkeypatch):
    """It is not known that the other worker is gone, so it gets a little more time."""
    monkeypatch.setattr(ending, "OVERDUE_MS", 300)
    up, ear = tmp_path / "up", Ear()
    command = Command(line_that_stays(up), timeout=SECOND, grace=SECOND // 2)

    async def running():
        launcher = CommandLauncher(journal, ear, beat=0.1)
        launcher.adopt()
        await asyncio.to_thread(killed_worker, journal.folder, command, up.exists)
        await ear.until(Report.FAILED, 20)

    asyncio.run(running())
    assert ear.ends[-1] == (Report.FAILED, 137, TIMED_OUT)
    assert ticks(number_in(up)) is None


def test_grace_goes_on_after_the_worker_is_killed_and_nothing_is_asked_twice(journal, tmp_path):
    up, asked, ear = tmp_path / "up", tmp_path / "asked", Ear()
    line = f"exec 2>/dev/null; trap 'echo asked >> {asked}' TERM; echo $$ > {up}; while :; do sleep 0.05; done"
    command = Command(line, timeout=SECOND // 2, grace=3 * SECOND)
    began = time.monotonic()
    killed_worker(journal.folder, command, asked.exists)

    async def adopted():
        launcher = CommandLauncher(journal, ear, beat=0.02)
        launcher.adopt()
        await ended(launcher)

    asyncio.run(adopted())
    assert ear.ends[-1] == (Report.FAILED, 137, TIMED_OUT)
    assert time.monotonic() - began >= 3.5
    assert asked.read_text() == "asked\n"


def test_killed_keeper_of_a_command_that_was_to_end_is_a_failure_and_not_unknown(journal):
    ghost = subprocess.Popen(["sleep", "60"])
    journal.begin("a", 1)
    journal.started("a", ghost.pid, Limits(5, 5))
    journal.asked("a", 6)
    ghost.kill()
    ghost.wait()
    ear = Ear()

    async def adopted():
        launcher = CommandLauncher(journal, ear)
        launcher.adopt()
        await ended(launcher)

    asyncio.run(adopted())
    assert ear.ends == [(Report.FAILED, -signal.SIGKILL, TIMED_OUT)]


def test_commands_need_no_thread_each(journal):
    launches = [a_launch(command=Command("sleep 60"), nominal=NOMINAL + n) for n in range(40)]

    async def script():
        launcher = CommandLauncher(journal, Ear())
        await asyncio.gather(*(launcher.start(launch) for launch in launches))
        count = threading.active_count()
        await asyncio.gather(*(launcher.cancel(launch.run) for launch in launches))
        await ended(launcher)
        return count

    assert asyncio.run(script()) < 20  # 40 more with the child watcher of asyncio


def test_ended_commands_leave_no_zombie_and_no_open_file(journal):
    async def script():
        launcher = CommandLauncher(journal, Ear())
        await launcher.start(a_launch(command=Command("exit 3")))
        await ended(launcher)
        before = set(Path("/proc/self/fd").iterdir())
        for n in range(1, 10):
            await launcher.start(a_launch(command=Command("exit 3"), nominal=NOMINAL + n))
        await ended(launcher)
        return before, set(Path("/proc/self/fd").iterdir())

    before, after = asyncio.run(script())
    assert len(after) <= len(before)
    with contextlib.closing(sqlite3.connect(journal.folder / "journal.db")) as connection:
        pids = [pid for (pid,) in connection.execute("SELECT pid FROM begun")]
    assert len(pids) == 10
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_process_is_followed_where_there_are_no_pidfds(journal, monkeypatch):
    monkeypatch.setattr(process, "open_pidfd", lambda pid: None)
    ear = Ear()

    async def script():
        launcher = CommandLauncher(journal, ear)
        await launcher.start(a_launch(command=Command("sleep 0.3; exit 4")))
        await ended(launcher)

    asyncio.run(script())
    assert ear.ends == [(Report.FAILED, 4, "")]


def test_process_id_that_another_process_has_by_now_is_not_followed(journal, monkeypatch):
    """The id is looked at again after the pidfd is open: another process may have got it in between."""
    journal.begin("a", 1)
    now = int(time.time())
    ghost = subprocess.Popen(["sleep", "60"])
    entry = Entry(now, boot(), ghost.pid, ticks(ghost.pid))
    monkeypatch.setattr(Entry, "alive", property(lambda self: True))
    ear = Ear()

    async def script():
        launcher = CommandLauncher(journal, ear)
        await asyncio.wait_for(launcher._follow("a", entry._replace(ticks=entry.ticks - 1)), 10)

    try:
        asyncio.run(script())
        assert ear.heard == [Report.LOST]
        assert ticks(ghost.pid) is not None
    finally:
        ghost.kill()
        ghost.wait()


def test_reaped_child_has_no_status():
    child = subprocess.Popen(["true"])

    async def script():
        followed = Process(child.pid, ticks(child.pid), is_child=True)
        assert await followed.ends_within(10)
        child.wait()
        try:
            return followed.reap()
        finally:
            followed.close()

    assert asyncio.run(script()) is None


def test_time_limit_counts_from_the_start(journal):
    limits = ending.limits_of(Command("true", timeout=5 * SECOND, grace=300 * MILLISECOND))
    assert 0 <= ending.monotonic_ms() + 5_000 - limits.kill_at < 1_000
    assert limits.grace == 300
