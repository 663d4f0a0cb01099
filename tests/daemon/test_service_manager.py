"""Service manager: what systemd is told, by a real socket; and the unit file."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from kron.apps.daemon.service_manager import ServiceManager
from tests.daemon.krond import NEVER, until

UNIT = Path(__file__).parents[2] / "deploy" / "krond" / "krond.service"


@pytest.fixture
def listener(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(30)
        yield channel


def heard(listener, word):
    """The messages up to one that has a word."""
    messages = []
    while not any(word in message for message in messages):
        messages.append(listener.recv(4_096).decode().split("\n"))
    return messages


def test_daemon_tells_when_it_is_ready_reloads_and_stops(make_krond, listener, tmp_path):
    krond = make_krond(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="60000000")
    krond.write("table", krond.job("a", "true", NEVER))
    krond.start()
    ready = heard(listener, "WATCHDOG=1")
    assert ["READY=1", "STATUS=1 table, 1 job"] in ready
    krond.write("table", krond.job("b", "true", NEVER), krond.job("c", "true", NEVER))
    reload = heard(listener, "STATUS=1 table, 2 jobs")
    assert any(message[0] == "RELOADING=1" and message[1].startswith("MONOTONIC_USEC=") for message in reload)
    krond.send(signal.SIGTERM)
    heard(listener, "STOPPING=1")
    assert krond.process.wait(20) == 0


def test_watchdog_is_fed_only_while_the_store_can_be_written(make_krond, listener, tmp_path):
    """A daemon whose passes fail must be restarted, so it says nothing."""
    krond = make_krond(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="60000000")
    krond.write("table", krond.job("a", "true", NEVER))
    krond.start()
    heard(listener, "WATCHDOG=1")
    krond.state.unlink()
    until(lambda: krond.events("store_lost"))
    listener.settimeout(0.1)
    with pytest.raises(TimeoutError):
        while True:
            listener.recv(4_096)
    listener.settimeout(7)  # longer than between two renewals of the lease
    with pytest.raises(TimeoutError):
        heard(listener, "WATCHDOG=1")


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": "/nowhere/socket"}])
def test_without_a_listener_nothing_is_sent(environment):
    manager = ServiceManager(environment)
    manager.ready("1 tables")
    manager.reloading()
    manager.keep_alive()
    manager.stopping()


def test_abstract_socket_is_found():
    name = f"kron-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(f"\0{name}")
        ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).ready("fine")
        assert channel.recv(100) == b"READY=1\nSTATUS=fine"


def test_watchdog_of_another_process_is_not_fed():
    assert ServiceManager({"WATCHDOG_USEC": "1", "WATCHDOG_PID": str(os.getpid())}).has_watchdog
    assert not ServiceManager({"WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}).has_watchdog
    assert not ServiceManager({}).has_watchdog


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_unit_is_valid(tmp_path):
    """As it is, apart from the path of the program, which this host does not have."""
    unit = tmp_path / "krond.service"
    unit.write_text(UNIT.read_text().replace("/usr/sbin/krond", "/bin/true"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_unit_leaves_commands_alone():
    lines = UNIT.read_text().splitlines()
    assert {"Type=notify", "KillMode=process", "Delegate=yes", "WatchdogSec=60", "Restart=always"} <= set(lines)
    assert not [
        line for line in lines if line.startswith(("NoNewPrivileges", "ProtectSystem", "ProtectHome", "Private"))
    ]
