"""Real web servers for tests: a process, its log, and HTTP requests to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.docs.page import ROOT

SCRIPTS = Path(sys.executable).parent
START_SECONDS = 60.0  # a server under load needs that long to start
EXIT_SECONDS = 60.0


class WebServer:
    """A process that serves HTTP on a port of this host."""

    def __init__(self, command: list[str], port: int, folder: Path, log: str = "server.log", **env: str) -> None:
        self.port, self.log = port, folder / log
        path = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **env}
        with self.log.open("a", encoding="utf-8") as file:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=file)

    def ask(self, path: str, body: Any = None, method: str | None = None, timeout: float = 20) -> tuple[int, Any]:
        """Return the status and the JSON or text of a response. A body is sent as JSON with POST."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Connection": "close"}
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                status, content = response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                status, content = error.code, error.read().decode()
        try:
            return status, json.loads(content)
        except ValueError:
            return status, content

    def wait(self, path: str = "/") -> WebServer:
        """Wait until the server answers, with any status."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            assert self.process.poll() is None, self.text()
            try:
                self.ask(path)
            except OSError:
                time.sleep(0.1)
            else:
                return self
        raise AssertionError(f"no answer after {START_SECONDS} s\n{self.text()}")

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def children(self) -> list[int]:
        """The ids of the processes that the server has forked and that live."""
        return children_of(self.process.pid)

    def stop(self) -> int:
        """Ask the server to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(EXIT_SECONDS)

    def close(self) -> None:
        for pid in [*self.children(), self.process.pid]:
            if self.process.poll() is None or pid != self.process.pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.process.wait(EXIT_SECONDS)


def children_of(pid: int) -> list[int]:
    """The ids of the living children of a process."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


@contextmanager
def serving(command: list[str], port: int, folder: Path, **env: str) -> Iterator[WebServer]:
    """A server that is asked to end, and killed if it does not."""
    server = WebServer(command, port, folder, **env)
    try:
        yield server
    finally:
        server.close()


def uvicorn(app: str, port: int, *more: str) -> list[str]:
    return [str(SCRIPTS / "uvicorn"), app, "--port", str(port), "--log-level", "warning", *more]


def gunicorn(app: str, port: int, *more: str) -> list[str]:
    return [str(SCRIPTS / "gunicorn"), app, "--bind", f"127.0.0.1:{port}", "--no-control-socket", *more]


def until(condition: Any, seconds: float = 20.0, what: str = "") -> Any:
    """The first true value of a condition; fails after so many seconds."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"not after {seconds} s: {what or condition}")
