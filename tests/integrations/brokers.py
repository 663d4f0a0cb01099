"""Real brokers for tests: each has its own files and port, and is gone when the test is over."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres import free_port

RABBITMQ = sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"))
START_SECONDS = 120.0  # a busy machine may take that long to start RabbitMQ


class Broker:
    """A broker process. `stop` and `start` are an outage, in which it keeps its messages."""

    def __init__(self, url, port, command, folder, env=None, after=()):
        self.url, self.port, self.command, self.folder, self.env = url, port, command, folder, env
        self.after = after  # command that ends what the broker leaves behind
        self.process = None

    def start(self):
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.env, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.port):
            assert self.process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.1)

    def stop(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, 15)
            self.process.wait(60)
            if self.after:
                subprocess.run(self.after, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


@contextmanager
def broker(kind):
    """A running broker: `redis` or `rabbitmq`. The test is skipped where it is not installed."""
    folder = Path(tempfile.mkdtemp(prefix=f"kron-{kind}-"))
    running = redis(folder) if kind == "redis" else rabbitmq(folder)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


def redis(folder):
    program, port = shutil.which("redis-server"), free_port()
    if program is None:
        pytest.skip("redis-server is not installed")
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    options += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    return Broker(f"redis://127.0.0.1:{port}/0", port, [program, *options], folder)


def rabbitmq(folder):
    if not RABBITMQ:
        pytest.skip("rabbitmq-server is not installed")
    port, names_port = free_port(), str(free_port())
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "RABBITMQ_NODENAME": f"kron{port}@localhost",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "ERL_EPMD_PORT": names_port,
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "logs"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
    }
    demoted = []
    if os.getuid() == 0:
        shutil.chown(folder, "rabbitmq", "rabbitmq")
        demoted = ["runuser", "-u", "rabbitmq", "--"]
    url, command = f"amqp://guest:guest@127.0.0.1:{port}//", [*demoted, str(RABBITMQ[-1])]
    return Broker(url, port, command, folder, env, ["epmd", "-port", names_port, "-kill"])
