"""`kron ui`: the dashboard of a store in a process of its own, for this machine only."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kron.apps.dashboard.server import NICENESS
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from tests.dashboard.served import Site
from tests.integrations.web import WebServer
from tests.postgres import free_port
from tests.stores.making import a_job

KRON = str(Path(sys.executable).parent / "kron")


def a_store(folder):
    async def define():
        async with open_store(f"sqlite:{folder / 'jobs.db'}") as store:
            await Registrar(store).upsert(a_job("report", "0 9 * * *"))

    asyncio.run(define())


@pytest.mark.parametrize(("options", "status"), [((), 403), (("--operator",), 303)])
def test_dashboard_is_read_only_unless_asked(tmp_path, options, status):
    a_store(tmp_path)
    port = free_port()
    command = [KRON, "ui", "--store", "sqlite:jobs.db", "--listen", f"127.0.0.1:{port}", *options]
    server = WebServer(command, port, tmp_path)
    try:
        server.wait("/")
        site = Site(port)
        priority = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == priority  # runs on this machine go first
        assert site.get("/", Host="evil.example").status == 401
        assert site.send("/schedules/report/pause").status == status
        stream = subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{port}/stream"], stdout=subprocess.PIPE)
        assert stream.stdout.readline() == b"event: live\n"
        server.process.send_signal(signal.SIGINT)  # an open page does not keep it from ending
        assert server.process.wait(10) in (0, -signal.SIGINT, 130)
        stream.communicate(timeout=10)
        assert re.search(r"kron ui shows sqlite:jobs.db on http://127.0.0.1:\d+/", server.text())
        assert "Traceback" not in server.text()
    finally:
        server.close()


@pytest.mark.parametrize(
    ("words", "part", "code"),
    [
        (["--store", "sqlite:jobs.db", "--listen", "0.0.0.0:8090"], "addresses of this machine only", 2),
        (["--store", "sqlite:jobs.db", "--listen", "8090"], "is not an address with a port", 2),
        (["--store", "sqlite:none.db"], "does not exist", 1),
        (["--store", "memory:"], "exists in its own process only", 2),
    ],
)
def test_wrong_use_says_what_to_write(tmp_path, words, part, code):
    a_store(tmp_path)
    result = subprocess.run([KRON, "ui", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == code
    assert part in result.stderr
    assert "hint:" in result.stderr


def test_port_in_use_is_reported_before_anything_is_shown(tmp_path):
    a_store(tmp_path)
    opened = tmp_path / "opened"
    browser = {**os.environ, "BROWSER": f"touch {opened} #%s"}
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        words = [KRON, "ui", "--store", "sqlite:jobs.db", "--open", "--listen", listen]
        result = subprocess.run(
            words, cwd=tmp_path, env=browser, capture_output=True, text=True, timeout=60, check=False
        )
    assert result.returncode == 1
    assert result.stderr.startswith("error[CONFIG]") and f"{listen!r} is not available" in result.stderr
    assert "hint:" in result.stderr and "--listen" in result.stderr
    assert "kron ui shows" not in result.stdout + result.stderr
    assert not opened.exists()
