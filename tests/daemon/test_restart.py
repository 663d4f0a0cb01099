"""`restart=true`: a command whose end nobody can know runs again, and only then."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from kron.rules.run_state import State
from tests.daemon.krond import soon, until

pytestmark = pytest.mark.slow


def kill_all(folder):
    """Kill the commands and their keepers at once, as a power failure does: none sees the end of another."""
    pids = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"OF_TEST={folder}".encode() in environ.read_bytes().split(b"\0"):
                parent = int((environ.parent / "stat").read_text().rpartition(")")[2].split()[1])
                pids += [parent, int(environ.parent.name)]  # a keeper does not have the variables of its command
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            if pid > 1:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


@pytest.mark.parametrize(("more", "state", "attempts"), [("restart=true", State.SUCCESS, 2), ("", State.LOST, 1)])
def test_command_that_died_with_its_host_runs_again_if_its_line_says_so(krond, tmp_path, more, state, attempts):
    started = tmp_path / "started"
    command = f"echo x >> {started}; test $(wc -l < {started}) -gt 1 || exec sleep 600"
    krond.write("table", krond.job("job", command, soon(), more=more))
    krond.start()
    until(lambda: started.exists() and krond.events("launch_completed"))
    krond.kill()
    kill_all(krond.folder)
    krond.start()
    until(lambda: krond.runs("job") and not krond.runs("job")[0].open)
    (run,) = krond.runs("job")
    assert (run.state, run.attempt, started.read_text().count("x")) == (state, attempts, attempts)


def test_command_that_outlived_its_daemon_does_not_run_again(krond, tmp_path):
    started = tmp_path / "started"
    krond.write("table", krond.job("job", f"echo x >> {started}; sleep 3", soon(), more="restart=true"))
    krond.start()
    until(started.exists)
    krond.kill()
    krond.start()
    until(lambda: krond.runs("job") and not krond.runs("job")[0].open)
    assert (krond.runs("job")[0].state, started.read_text()) == (State.SUCCESS, "x\n")
