"""A real krond process on a folder of tables, its log, and the store that it leaves."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from kron.apps.wiring import open_store
from kron.timing.zone import rfc3339

BIN = Path(sys.executable).parent
EVERY_SECOND = "plus: * * * * * * @policy(concurrency=allow,deadline=30s)"
NEVER = "0 0 1 1 *"


def soon() -> str:
    """A schedule of one run, late enough for a busy machine: krond never runs what was due before it read the table."""
    return f"plus: at {rfc3339(int(time.time()) + 6)} @policy(deadline=30s)"


class Krond:
    """A daemon of this user, with everything it needs in one folder."""

    def __init__(self, folder: Path, *options: str, **env: str):
        self.folder, self.tables, self.state = folder, folder / "tables", folder / "state" / "state.db"
        self.log, self.options, self.env, self.process = folder / "log", options, env, None
        self.tables.mkdir(mode=0o755, exist_ok=True)

    def write(self, name: str, *lines: str) -> Path:
        """Replace a table, as a careful editor does."""
        draft = self.folder / f"{name}.draft"
        draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        draft.chmod(0o644)
        return draft.replace(self.tables / name)

    def command(self, *more: str) -> list[str]:
        paths = ["--config", str(self.tables), "--state", str(self.state)]
        return [str(BIN / "krond"), "--user", *paths, "--log", "json", *self.options, *more]

    def start(self, *more: str) -> "Krond":
        """Start the daemon, and wait until it has read its tables."""
        seen = len(self.events("krond_started"))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(*more), stdout=log, stderr=log, env={**os.environ, **self.env}, start_new_session=True
            )
        until(lambda: len(self.events("krond_started")) > seen or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()
        return self

    def run(self, *more: str) -> subprocess.CompletedProcess:
        """Run a daemon that ends by itself."""
        env = {**os.environ, **self.env}
        return subprocess.run(self.command(*more), capture_output=True, text=True, timeout=60, check=False, env=env)

    def send(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def stop(self, seconds: float = 20.0) -> int:
        self.send(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End the daemon and the commands that it has left."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if f"OF_TEST={self.folder}".encode() in environ.read_bytes().split(b"\0"):
                    os.kill(int(environ.parent.name), signal.SIGKILL)

    def events(self, *names: str) -> list[dict]:
        """The events of the log, all of them or those with these names."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        found = []
        for line in lines:
            with suppress(ValueError):  # a daemon that was killed can leave half a line
                found.append(json.loads(line))
        return [event for event in found if not names or event["event"] in names]

    def job(self, name: str, command: str, schedule: str = EVERY_SECOND, table: str = "table", more: str = "") -> str:
        """A line of a table whose processes `close` can find."""
        return f'{schedule} name={name} env=OF_TEST={self.folder} {more} command="{command}"'

    def identity(self, name: str, table: str = "table") -> str:
        return f"{self.tables / table}:{name}"

    def runs(self, name: str, table: str = "table") -> list:
        """The runs of a job in the store, the newest first."""
        return self.ask(lambda store: store.runs(self.identity(name, table), 1_000))

    def names(self) -> list[str]:
        """Identities of the jobs in force."""
        return self.ask(lambda store: store.identities("", 1_000))

    def ask(self, question):
        async def answer():
            async with open_store(f"sqlite:{self.state}") as store:
                return await question(store)

        return asyncio.run(answer())


def until(what, seconds: float = 30.0):
    """Wait until something is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it has not come true in time"
        time.sleep(0.02)
    return found


def kron(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([BIN / "kron", *words], capture_output=True, text=True, timeout=60, check=False)


def krontab(daemon: Krond, *words: str, answer: str = "", **env: str) -> subprocess.CompletedProcess:
    """Run krontab for a daemon, with an answer on its standard input."""
    place = ["--user", "--config", str(daemon.tables), "--state", str(daemon.state)]
    settings = {**os.environ, **env}
    return subprocess.run(
        [BIN / "krontab", *words, *place], input=answer, env=settings, capture_output=True, text=True, timeout=60
    )
