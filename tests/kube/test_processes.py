"""Servers of tests end with the tests, however these end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
import sys, time
from tests.kube.cluster.processes import Processes
processes = Processes("kron-test-")
processes.start("server", "sleep", "1000")
processes.remove_at_end(sys.argv[1])
print(processes.living["server"].pid, processes.folder, flush=True)
time.sleep(1000)
"""
SECONDS = 120


def test_kill_of_the_tests_ends_servers_and_removes_folders(tmp_path):
    other = tmp_path / "other" / "folder"
    other.mkdir(parents=True)
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "other")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as tests:
        pid, folder = tests.stdout.readline().split()
        assert Path(folder).is_dir()
        tests.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + SECONDS
    while is_running(int(pid)) or Path(folder).exists() or (tmp_path / "other").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_running(pid):
    """Whether a process runs. One that nobody waits for stays as a zombie."""
    try:
        os.kill(pid, 0)
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (ProcessLookupError, FileNotFoundError):
        return False
