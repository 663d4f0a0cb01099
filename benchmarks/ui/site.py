"""Site: the dashboard in a process of its own, and requests to it over one connection."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from tests.postgres import free_port

START_SECONDS = 30


class Reply(NamedTuple):
    """Response to a request."""

    status: int
    body: bytes
    seconds: float


class Site:
    """Dashboard that is running."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, address: str) -> Reply:
        """Return the response to a request, and how long it took until all of it was there."""
        try:
            return self._timed(address)
        except (http.client.RemoteDisconnected, ConnectionResetError):  # the server ends idle connections
            self.connection.close()
            return self._timed(address)

    def _timed(self, address: str) -> Reply:
        began = time.perf_counter()
        self.connection.request("GET", address, headers={"Cookie": "kron_zone=Europe/Paris; kron_form=x"})
        answer = self.connection.getresponse()
        body = answer.read()
        return Reply(answer.status, body, time.perf_counter() - began)


@contextmanager
def served(url: str) -> Iterator[Site]:
    """Start the dashboard of a store, and end it."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.ui.server", url, str(port)])
    try:
        site = Site(port, process.pid)
        with closing(site.connection):
            _wait(site, process)
            yield site
    finally:
        process.terminate()
        process.wait(30)


def _wait(site: Site, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            site.get("/try")
        except OSError:
            site.connection.close()
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the dashboard did not start")
