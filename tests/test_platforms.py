"""Other systems than Linux: without its signals, its /proc and its tz database."""

import subprocess
import sys

import pytest

WINDOWS = """
import signal, sys
for name in ("SIGKILL", "SIGSTOP", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"):
    delattr(signal, name)
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
import os
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_DIRECTORY"):
    delattr(os, name)
for name in ("killpg", "fork", "geteuid", "getuid", "setsid"):
    delattr(os, name)
"""
EVERYTHING = """
import importlib, pkgutil, kron
for module in pkgutil.walk_packages(kron.__path__, "kron."):
    if not module.name.startswith("kron.integrations.celery"):  # Celery imports fcntl on Linux
        importlib.import_module(module.name)
"""
JOB = """
import asyncio
from kron import Scheduler

async def main():
    async with Scheduler("sqlite:jobs.db") as s:
        s.add(print, "daily", args=("ran",), name="job")
        await s.trigger("job")
        await asyncio.sleep(0.5)

asyncio.run(main())
"""
NO_DATABASE = """
import sys, zoneinfo
zoneinfo.reset_tzpath(to=[])
sys.modules["tzdata"] = None
"""


def run(script, cwd):
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_module_imports_without_posix(tmp_path):
    run(WINDOWS + EVERYTHING, tmp_path)


def test_scheduler_runs_without_posix(tmp_path):
    assert run(WINDOWS + JOB, tmp_path) == "ran\n"


def test_worker_runs_without_signal_handlers(tmp_path):
    script = """
import asyncio, os, signal, threading, _thread, time
def refuse(*_): raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = refuse
from kron.apps.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores SIGINT in what it starts in the background
threading.Timer(2, _thread.interrupt_main).start()
print(main(["worker", "--store", "sqlite:jobs.db"]) in (0, 130))
"""
    assert run(script, tmp_path).splitlines()[-1] == "True"


def test_host_commands_without_proc_are_refused(tmp_path):
    script = """
from pathlib import Path
exists = Path.exists
Path.exists = lambda self: not str(self).startswith("/proc") and exists(self)
from kron.apps.cli import main
import sys
sys.stderr = sys.stdout
print(main(["worker", "--store", "sqlite:jobs.db", "--command-journal", "journal"]))
"""
    said = run(script, tmp_path)
    assert "NEEDS_LINUX" in said
    assert said.splitlines()[-1] == "1"


@pytest.mark.parametrize("system", ["", WINDOWS], ids=["linux", "windows"])
def test_scheduler_in_utc_runs_without_a_tz_database(tmp_path, system):
    assert run(system + NO_DATABASE + JOB, tmp_path) == "ran\n"


def test_zone_without_a_tz_database_says_what_to_install(tmp_path):
    script = """
from kron import KronError, Scheduler, parse
from kron.testing import travel
for question in (
    lambda: Scheduler("memory:").cron("0 9 * * *", timezone="Europe/Paris")(print),
    lambda: Scheduler("memory:").add(print, "daily", timezone="Europe/Paris"),
    lambda: parse("0 9 * * * @tz(Europe/Paris)", dialect="kron"),
    lambda: travel("2026-03-08 01:59 America/New_York"),
):
    try:
        question()
    except KronError as error:
        print(error.code, "pip install tzdata" in str(error))
"""
    assert run(NO_DATABASE + script, tmp_path).splitlines() == ["UNKNOWN_ZONE True"] * 4
