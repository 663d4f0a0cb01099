"""krond as process 1 of a container: it reaps what others leave, and nothing that it follows itself."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from kron.rules.run_state import State
from tests.daemon.krond import until


def can_unshare():
    words = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return os.geteuid() == 0 and subprocess.run(words, check=False).returncode == 0


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not can_unshare(), reason="needs root and namespaces")]


def children(pid):
    """Children of a process, of all its threads. Zombies are among them."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def is_stranger(pid):
    """Whether a process waits for the end that the test gives: it is none of a run that goes on."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"/end ]" in words and b"exit 7" not in words
    return False


@pytest.fixture
def container(krond, tmp_path):
    """A daemon that is process 1 of its namespace, and has a child of its own session from before it was krond."""
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    command = krond.command()
    earlier = f'(while [ ! -e {tmp_path}/end ]; do sleep 0.05; done; exec true) & exec "$@"'
    krond.command = lambda *more: [*words, "sh", "-c", earlier, "sh", *command, *more]
    return krond


def test_strangers_are_reaped_and_commands_keep_their_status(container, tmp_path):
    leave = f"(setsid sh -c 'while [ ! -e {tmp_path}/end ]; do sleep 0.05; done' &); sleep 0.2; exit 7"
    container.write("table", container.job("job", leave))
    container.start("--wait", "20s")
    (daemon,) = children(container.process.pid)
    assert Path(f"/proc/{daemon}/status").read_text().count("NSpid:\t" + f"{daemon}\t1\n") == 1
    until(lambda: len(container.events("run_finished")) >= 4)
    assert {event["state"] for event in container.events("run_finished")} == {"failed"}
    strangers = until(lambda: [pid for pid in children(daemon) if is_stranger(pid)])
    assert len(strangers) >= 4, "those of the runs, and the one from before"
    (tmp_path / "end").touch()
    until(lambda: not set(strangers) & set(children(daemon)))  # a zombie would stay
    os.kill(daemon, signal.SIGTERM)
    assert container.process.wait(30) == 0
    codes = {attempt.code for run in container.runs("job") for attempt in attempts(container, run)}
    assert codes == {7}


def attempts(container, run):
    assert run.state is State.FAILED
    return container.ask(lambda store: store.attempts([run.key]))[0]
