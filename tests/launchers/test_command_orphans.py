"""Orphans of a subreaper: counted, reaped one by one, and no child that another part of the program waits for.

A subreaper stays one, so each test has a process of its own.
"""

import json
import subprocess
import sys

PRELUDE = """
import asyncio, json, os, subprocess, sys, time
from pathlib import Path
from kron.launchers.command.journal import Journal
from kron.launchers.command.launcher import CommandLauncher
from kron.launchers.command.orphans import Orphans, become_subreaper
from kron.timing.job import Command
from tests.launchers.making import Ear, a_launch

def children():
    return sorted({int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()})

def until(is_true):
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)

def is_zombie(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")

become_subreaper()
"""

ORPHANS = """
async def main(folder):
    launcher = CommandLauncher(Journal(folder), Ear())
    line = f"(setsid sh -c 'while [ ! -e {folder}/go ]; do sleep 0.05; done' &) ; (exec sleep 300 &) ; exit 0"
    await launcher.start(a_launch(command=Command(line + " >/dev/null 2>&1")))
    await launcher.reap_orphans()
    while launcher.tasks:
        await asyncio.sleep(0.01)
    orphans = await launcher.reap_orphans()
    first = orphans.running, orphans.reaped
    Path(folder, "go").touch()
    async with asyncio.timeout(30):
        while (await launcher.reap_orphans()).reaped < 1:
            await asyncio.sleep(0.02)
    rest = children()
    for pid in rest:
        os.kill(pid, 9)
    async with asyncio.timeout(30):
        while (await launcher.reap_orphans()).reaped < 2:
            await asyncio.sleep(0.02)
    print(json.dumps([first, len(rest), orphans.running, orphans.reaped, children()]))

asyncio.run(main(sys.argv[1]))
"""

OWN_CHILDREN = """
orphans = Orphans()
near = subprocess.Popen(["/bin/sh", "-c", "exit 7"])
far = subprocess.Popen(["/bin/sh", "-c", "exit 8"], start_new_session=True)
until(lambda: is_zombie(near.pid) and is_zombie(far.pid))
for _ in range(3):
    orphans.look({far.pid})
print(json.dumps([orphans.running, orphans.reaped, near.wait(), far.wait()]))
"""

SEEN_TWICE = """
orphans = Orphans()
stranger = subprocess.Popen(["/bin/sh", "-c", "exit 8"], start_new_session=True)
until(lambda: is_zombie(stranger.pid))
orphans.look(())
first = orphans.reaped, children()
orphans.look(())
print(json.dumps([first == (0, [stranger.pid]), orphans.reaped, children()]))
stranger.wait()
"""


def result_of(script, *arguments):
    words = [sys.executable, "-c", PRELUDE + script, *map(str, arguments)]
    process = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_orphans_of_commands_are_counted_and_reaped(tmp_path):
    """Two of them: one has left the session of its command, one has not. Neither was reaped by init."""
    assert result_of(ORPHANS, tmp_path / "journal") == [[2, 0], 1, 0, 2, []]


def test_child_of_another_part_of_the_program_is_left_to_it():
    """One in the session of the program, and one that the caller names."""
    assert result_of(OWN_CHILDREN) == [0, 0, 7, 8]


def test_child_is_reaped_only_if_it_was_seen_before():
    """What has started a child can say so before the next look."""
    assert result_of(SEEN_TWICE) == [True, 1, []]
