"""The server of a dashboard on this machine."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from kron.apps.dashboard.server import NICENESS, sockets_of
from kron.apps.wiring import open_store
from tests.postgres import free_port

KRON = Path(sys.executable).with_name("kron")


def test_connection_sends_at_once():
    """Without this, the body of a page waits until the browser has confirmed the headers, which takes 40 ms."""
    (listener,) = sockets_of("127.0.0.1", 0)
    with closing(listener), socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with closing(accepted):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="needs priorities of POSIX")
def test_kron_ui_lowers_its_priority_so_that_runs_go_first(tmp_path):
    port, before = free_port(), os.getpriority(os.PRIO_PROCESS, 0)
    command = [KRON, "ui", "--store", f"sqlite:{tmp_path / 'jobs.db'}"]
    asyncio.run(made(tmp_path))
    process = subprocess.Popen([*command, "--listen", f"127.0.0.1:{port}"])
    try:
        end = time.monotonic() + 30
        while not is_open(port) and time.monotonic() < end:
            time.sleep(0.05)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(19, before + NICENESS)
    finally:
        process.terminate()
        process.wait(30)


async def made(folder):
    async with open_store(f"sqlite:{folder / 'jobs.db'}") as store:
        await store.now()


def is_open(port):
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
