"""krond as process 1 of a container: it reaps what others leave, and nothing that it follows itself."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from kron.rules.run import State
from tests.daemon.krond import until


def can_unshare():
    words = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return os.geteuid() == 0 and subprocess.run(words, check=False).returncode == 0


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not can_unshare(), reason="needs root and namespaces")]


def children(pid):
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def zombies(pid):
    """Zombies among the children of a process, of all its threads."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            with suppress(OSError):
                if Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].startswith("Z"):
                    found.append(int(child))
    return found


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
    (tmp_path / "end").touch()
    seen = until(lambda: zombies(daemon))
    until(lambda: not set(seen) & set(zombies(daemon)))
    os.kill(daemon, signal.SIGTERM)
    assert container.process.wait(30) == 0
    codes = {attempt.code for run in container.runs("job") for attempt in attempts(container, run)}
    assert codes == {7}


def attempts(container, run):
    assert run.state is State.FAILED
    return container.ask(lambda store: store.attempts([run.key]))[0]
