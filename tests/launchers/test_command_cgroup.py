"""cgroups of commands: no process leaves them, one file kills them all, and the kernel says when memory ran out.

The tests of the first part need a cgroup v2 that root can write to. Such a hierarchy often lacks the memory controller,
and a test must not exhaust the memory of its machine. So the other tests have a folder that stands for the hierarchy:
the launcher only reads and writes files, and these tests write what the kernel would.
"""

import asyncio
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kron.launchers.command.cgroup import Cgroups, delegated_folder
from kron.launchers.command.ending import OUT_OF_MEMORY, TIMED_OUT
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import NO_END, CommandLauncher
from kron.launchers.command.process import ticks
from kron.launchers.command.session import Session
from kron.rules.launch_result import LaunchResult, Report
from kron.timing.job import Command
from kron.timing.schedule.policy import MILLISECOND
from tests.launchers.making import Ear, a_launch

ROOTS = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]
ROOT = next((root for root in ROOTS if (root / "cgroup.controllers").exists()), None)
REAL = pytest.mark.skipif(
    os.getuid() != 0 or ROOT is None or not os.access(ROOT, os.W_OK), reason="needs a cgroup v2 that root can write to"
)


@pytest.fixture
def hierarchy():
    """A new folder of the real hierarchy."""
    folder = ROOT / f"kron-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    with suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
    end = time.monotonic() + 10
    while "populated 1" in (folder / "cgroup.events").read_text() and time.monotonic() < end:
        time.sleep(0.01)
    for path in sorted(folder.glob("**/"), reverse=True):
        path.rmdir()


@pytest.fixture
def stand_in(tmp_path):
    folder = tmp_path / "hierarchy"
    folder.mkdir()
    return folder


def run(tmp_path, folder, command, meanwhile=None):
    """The last report on a command, if there is one."""
    ear = Ear()

    async def script():
        launcher = CommandLauncher(Journal(tmp_path / "journal"), ear, cgroup_folder=folder)
        assert await launcher.start(a_launch(command=command)) is LaunchResult.OK
        if meanwhile:
            await meanwhile(launcher)
        async with asyncio.timeout(60):
            while launcher.tasks:
                await asyncio.sleep(0.01)

    asyncio.run(script())
    return ear.ends[-1] if ear.ends else None


def folders(folder):
    return [path for path in (folder / "jobs").iterdir() if path.is_dir()]


def hidden_process(file, trap):
    """The line of a process that the session and the environment do not show. It writes its id to a file."""
    return f"env -i setsid /bin/sh -c '{trap}; echo $$ > {file}; while :; do sleep 0.1; done' >/dev/null 2>&1"


# The real hierarchy


@REAL
@pytest.mark.parametrize("user", [None, "nobody"])
def test_run_has_its_own_cgroup_whatever_its_user(tmp_path, hierarchy, user):
    _, _, excerpt = run(tmp_path, hierarchy, Command("grep ^0:: /proc/self/cgroup; exit 1", user=user))
    assert excerpt.startswith(f"0::/{hierarchy.name}/jobs/")
    assert folders(hierarchy) == []


@REAL
def test_process_that_hides_from_the_search_is_ended_too(tmp_path, hierarchy):
    """It has left the session and has an empty environment, so that only its cgroup tells whose it is.

    It can clean up after SIGTERM, like any other process of the run.
    """
    file, trace = tmp_path / "pid", tmp_path / "trace"
    hidden = hidden_process(file, f'trap "echo cleaned > {trace}; exit" TERM')
    report, code, excerpt = run(tmp_path, hierarchy, Command(f"{hidden} & exec sleep 300", timeout=2_000 * MILLISECOND))
    assert (report, code, excerpt) == (Report.FAILED, 143, TIMED_OUT)
    assert ticks(int(file.read_text())) is None
    assert trace.read_text() == "cleaned\n"
    assert folders(hierarchy) == []


@REAL
def test_processes_that_cannot_be_killed_one_by_one_are_killed_at_once(tmp_path, hierarchy, monkeypatch):
    """The keeper is killed with them and leaves no status. One of them is not in its process group."""
    monkeypatch.setattr(Session, "kill", lambda session: True)
    file = tmp_path / "pid"
    line = f"trap '' TERM; {hidden_process(file, 'trap : TERM')} & while :; do sleep 0.1; done"
    command = Command(line, timeout=2_000 * MILLISECOND, grace=0)
    assert run(tmp_path, hierarchy, command) == (Report.FAILED, -signal.SIGKILL, TIMED_OUT)
    assert ticks(int(file.read_text())) is None
    assert folders(hierarchy) == []


@REAL
def test_cgroup_is_killed_and_removed(hierarchy):
    cgroups = Cgroups(hierarchy, "1-2")
    file = cgroups.create("a")
    process = subprocess.Popen(["/bin/sh", "-c", 'echo 0 > "$0"; sleep 300 & exec sleep 300', file])
    while len(cgroups.members("a")) < 2:
        time.sleep(0.01)
    cgroups.remove("a")
    assert cgroups.members("b") == []
    assert process.pid in cgroups.members("a")  # it is still there
    cgroups.kill("a")
    cgroups.remove("a")  # it waits until the processes have ended
    assert folders(hierarchy) == []
    assert process.wait(10) == -signal.SIGKILL


@REAL
def test_process_that_a_run_left_keeps_its_cgroup_until_a_later_worker(tmp_path, hierarchy):
    file = tmp_path / "pid"
    run(tmp_path, hierarchy, Command(f"sleep 300 >/dev/null 2>&1 & echo $! > {file}"))
    assert len(folders(hierarchy)) == 1
    os.kill(int(file.read_text()), signal.SIGKILL)
    while "populated 1" in (folders(hierarchy)[0] / "cgroup.events").read_text():
        time.sleep(0.01)
    Cgroups(hierarchy, "1-2")
    assert folders(hierarchy) == []


# A folder that stands for the hierarchy


def events(stand_in, kills):
    """What the kernel writes about the only run."""
    (folder,) = folders(stand_in)
    (folder / "memory.events").write_text(f"low 0\nhigh 0\nmax 7\noom 1\noom_kill {kills}\noom_group_kill 0\n")


@pytest.mark.parametrize(("kills", "cause"), [(2, OUT_OF_MEMORY), (0, "ended by SIGKILL")])
def test_killed_keeper_is_explained_by_the_count_of_kills(tmp_path, stand_in, kills, cause):
    async def kill(launcher):
        events(stand_in, kills)
        os.killpg(launcher.journal.look(a_launch().run.key).pid, signal.SIGKILL)

    end = (Report.FAILED, -signal.SIGKILL, cause)
    assert run(tmp_path, stand_in, Command("sleep 300"), kill) == end


@pytest.mark.parametrize(
    ("kills", "ends"), [(2, [(Report.FAILED, -signal.SIGKILL, OUT_OF_MEMORY)]), (0, [(Report.LOST, None, NO_END)])]
)
def test_end_without_a_status_is_explained_by_the_count_of_kills(tmp_path, stand_in, kills, ends):
    """The worker was killed before its command. Without a kill for memory, nobody knows how it ended."""
    journal, ear, launch = Journal(tmp_path / "journal"), Ear(), a_launch(command=Command("sleep 300"))

    async def script():
        first = CommandLauncher(journal, Ear(), cgroup_folder=stand_in)
        await first.start(launch)
        for task in first.tasks.values():
            task.cancel()
        events(stand_in, kills)
        pid = journal.look(launch.run.key).pid
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        second = CommandLauncher(journal, ear, beat=60, cgroup_folder=stand_in)
        second.adopt()
        async with asyncio.timeout(30):
            while second.tasks:
                await asyncio.sleep(0.01)

    asyncio.run(script())
    assert ear.ends == ends


def test_status_of_a_command_that_was_killed_for_memory_is_explained(tmp_path, stand_in):
    line = f"for file in {stand_in}/jobs/*; do echo 'oom_kill 1' > $file/memory.events; done; kill -KILL $$"
    assert run(tmp_path, stand_in, Command(line)) == (Report.FAILED, 128 + signal.SIGKILL, OUT_OF_MEMORY)


def test_successful_command_that_lost_a_process_is_successful(tmp_path, stand_in):
    line = f"for file in {stand_in}/jobs/*; do echo 'oom_kill 1' > $file/memory.events; done"
    assert run(tmp_path, stand_in, Command(line)) == (Report.SUCCESS, 0, "")


def test_controller_of_memory_is_enabled_for_the_runs(stand_in):
    for folder in (stand_in, stand_in / "jobs"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.subtree_control").touch()
    Cgroups(stand_in, "1-2")
    texts = [(folder / "cgroup.subtree_control").read_text() for folder in (stand_in, stand_in / "jobs")]
    assert texts == ["+memory", "+memory"]


def test_journals_have_different_cgroups_for_one_key(stand_in):
    files = {Cgroups(stand_in, journal).create("a") for journal in ("1-2", "1-3")}
    assert len(files) == 2


def test_hierarchy_that_cannot_be_written_is_not_used(tmp_path):
    """The folder does not exist, as that of a unit that is gone."""
    assert run(tmp_path, tmp_path / "none", Command("exit 3"))[:2] == (Report.FAILED, 3)
    assert Cgroups(tmp_path / "none", "1-2").create("a") is None


def test_without_a_cgroup_nothing_happens(tmp_path):
    cgroups = Cgroups(None, "1-2")
    cgroups.kill("a")
    cgroups.remove("a")
    assert (cgroups.create("a"), cgroups.members("a"), cgroups.has_killed_for_memory("a")) == (None, [], False)


# The delegated folder


@pytest.fixture
def host(tmp_path):
    """A hierarchy with the folder of a unit and a subgroup, and the file that names the folder of this process."""
    root = tmp_path / "cgroup"
    (root / "system.slice/kron.service/daemon").mkdir(parents=True)
    for folder in root.glob("**/"):
        (folder / "cgroup.procs").touch()
    (root / "cgroup.controllers").touch()
    own = tmp_path / "own"
    own.write_text("4:memory:/other\n0::/system.slice/kron.service\n")
    return root, own


def mark(folder):
    try:
        os.setxattr(folder, "user.delegate", b"1")
    except OSError as error:
        pytest.skip(f"the file system has no attributes: {error}")


def test_folder_that_systemd_has_marked_is_used(host):
    root, own = host
    unit = root / "system.slice/kron.service"
    mark(unit)
    assert delegated_folder(own, (root,)) == unit
    assert delegated_folder(own, (root.parent, root)) == unit  # the first has only version 1
    own.write_text("0::/system.slice/kron.service/daemon\n")
    assert delegated_folder(own, (root,)) == unit


@pytest.mark.skipif(os.getuid() != 0, reason="only root can write to each folder")
def test_folder_that_root_can_write_to_is_not_delegated_by_that(host):
    root, own = host
    assert delegated_folder(own, (root,)) is None
    own.write_text("0::/\n")
    mark(root)
    assert delegated_folder(own, (root,)) is None


def test_host_without_version_2_has_no_delegated_folder(host, tmp_path):
    root, own = host
    mark(root / "system.slice/kron.service")
    own.write_text("4:memory:/system.slice/kron.service\n")
    assert delegated_folder(own, (root,)) is None
    assert delegated_folder(tmp_path / "none", (root,)) is None
    own.write_text("0::/system.slice/kron.service\n")
    (root / "system.slice/kron.service/cgroup.procs").unlink()
    assert delegated_folder(own, (root,)) is None
