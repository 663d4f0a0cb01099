"""Connections and streams: many that do nothing keep nobody from being answered."""

import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from kron.apps.service import connection
from tests.service.http import serving, until
from tests.service.test_config import free_port

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "


def opened(port, count, first=b""):
    found = []
    for _ in range(count):
        wire = socket.create_connection(("127.0.0.1", port))
        wire.sendall(first)
        found.append(wire)
    return found


@pytest.mark.parametrize("first", [b"", HALF], ids=["silent", "half a request"])
def test_thousand_idle_connections_do_not_block_health(first):
    """A process of its own: its limit of open files is the usual one, and the test's sockets are not in it."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "kron"), "serve", "--auth", "none", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wires = []
    try:
        until(lambda: _health(port) == 200, 30)
        wires = opened(port, 1005, first)
        for _ in range(5):
            began = time.monotonic()
            assert _health(port) == 200
            assert time.monotonic() - began < 2
    finally:
        for wire in wires:
            wire.close()
        process.terminate()
        process.wait(30)


def test_connection_without_a_whole_head_is_closed(monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)
    with serving() as service:
        for first in (b"", HALF):
            with opened(service.port, 1, first)[0] as wire:
                assert _ends(wire)
        with opened(service.port, 1, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")[0] as wire:
            assert wire.recv(15) == b"HTTP/1.1 200 OK"
            wire.sendall(HALF)  # a second request, half sent
            assert _ends(wire)


def test_request_that_takes_longer_than_a_head_is_answered(monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    with serving() as service:
        assert service.get("/v1/events?seconds=1").status == 200


def test_no_more_streams_than_allowed_are_open_at_once(plain):
    wires = opened(plain.port, 200, b"GET /v1/events?seconds=20 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    seen = Counter(wire.recv(64)[9:12] for wire in wires)
    for wire in wires:
        wire.close()
    assert seen == {b"200": 20, b"429": 180}
    until(lambda: plain.get("/v1/events?seconds=0").status == 200)  # those that left are not counted for ever


def _ends(wire):
    wire.settimeout(5)
    try:
        while wire.recv(1000):
            pass
    except ConnectionResetError:
        pass
    return True


def _health(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as wire:
            wire.settimeout(5)
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return int(wire.recv(100)[9:12] or 0)
    except OSError:
        return 0
