"""Beat processes of tests, and what the broker received from them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from queue import Empty

from kombu import Connection

from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from tests.docs.page import ROOT

SCHEDULER = "kron.integrations.celery:Scheduler"
START_SECONDS = 60.0


class Beat:
    """One process of `celery beat`."""

    def __init__(self, folder, name, broker, store, entries):
        self.log = folder / f"{name}.log"
        self.sent_before = 0  # messages that earlier processes of this beat sent
        self.env = {
            **os.environ,
            "KRON_TEST_BROKER": broker,
            "KRON_STORE": store,
            "KRON_TEST_ENTRIES": json.dumps(entries),
        }
        self.process = None

    def start(self, *, wait=True):
        command = [sys.executable, "-m", "celery", "-A", "tests.integrations.celery_project", "beat", "-S", SCHEDULER]
        begun, self.sent_before = self.text().count("beat: Starting..."), self.sent()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*command, "-l", "info"], cwd=ROOT, env=self.env, stdout=log, stderr=log)
        if wait:
            wait_for(lambda: self.text().count("beat: Starting...") > begun, START_SECONDS, self.text)

    def text(self):
        return self.log.read_text() if self.log.exists() else ""

    def sent(self):
        return self.text().count("Scheduler: Sending due task")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """End the process with SIGTERM, and return its exit status."""
        self.process.terminate()
        return self.process.wait(60)

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()


@dataclass(frozen=True)
class Received:
    """A message: its task id, its entry, its headers and when it arrived."""

    id: str
    entry: str
    key: str | None
    period: int | None
    attempt: int | None
    at: float


class Consumer:
    """Thread that takes every message of the queue `celery`."""

    def __init__(self, url):
        self.url, self.messages, self.ended = url, list[Received](), threading.Event()
        self.thread = threading.Thread(target=self._consume, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join(30)

    def _consume(self):
        while not self.ended.is_set():
            try:
                with Connection(self.url) as connection, connection.SimpleQueue("celery") as queue:
                    while not self.ended.is_set():
                        self._take(queue)
            except Exception:  # the broker is down: each transport has errors of its own
                time.sleep(0.2)

    def _take(self, queue):
        try:
            message = queue.get(timeout=0.5)
        except Empty:
            return
        headers, args = message.headers, message.payload[0]
        period = headers.get("kron_period")
        seconds = int(datetime.fromisoformat(period).timestamp()) if period else None
        key, attempt = headers.get("kron_key"), headers.get("kron_attempt")
        self.messages.append(Received(headers["id"], args[0], key, seconds, attempt, time.time()))
        message.ack()

    def periods(self):
        """The periods of each entry that arrived."""
        found = defaultdict(set)
        for message in list(self.messages):
            found[message.entry].add(message.period)
        return found

    def repeated(self):
        """Messages that arrived again under the same task id."""
        return sum(count - 1 for count in Counter(message.id for message in self.messages).values())

    def doubled(self):
        """Periods that arrived under two task ids."""
        ids = defaultdict(set)
        for message in self.messages:
            ids[message.entry, message.period].add(message.id)
        return sum(len(each) - 1 for each in ids.values())

    def lost(self, entries, first, last):
        """Periods after `first` and not after `last` that did not arrive."""
        periods = self.periods()
        return [
            (entry, period)
            for entry, every in entries.items()
            for period in range((first // every + 1) * every, last + 1, every)
            if period not in periods[entry]
        ]


def wait_for(condition, seconds, text=lambda: ""):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "\n".join(text().splitlines()[-8:])
        time.sleep(0.05)


def registered(url):
    """The names of the project's own jobs in a store. Celery adds an entry that cleans up results."""

    async def names():
        async with open_store(url) as store:
            states = await Registrar(store).schedules("celery/project/")
            return [state.job.name for state in states if state.job.name != "celery.backend_cleanup"]

    return asyncio.run(names())
