"""kill -9 in the middle of callbacks: `python -m tests.embedded.kills [HOW MANY] [sqlite|postgres]`.

A real process on a real store is killed while a callback is going, and started again, many times. Then the oracle of
traces reads its journal: every orphan started again, once, and nothing was lost or doubled. The real-time bounds of the
document are printed as they were found.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.embedded.application import SPEED, START, ZONE, registered
from tests.embedded.bounds import bounds
from tests.embedded.oracle import BOUND, Oracle
from tests.embedded.trace import Seen, Trace
from tests.postgres import running

SLACK = 10_000 * SPEED  # milliseconds of the fast clock: a busy machine may take ten seconds to start a process
PATIENCE = 60.0


class Campaign:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.epoch = folder, url, time.time()
        self.journal = folder / "journal"
        self.journal.touch()
        self.orphans = 0

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.embedded.application", str(self.folder), self.url, repr(self.epoch)]
        with (self.folder / "errors").open("ab") as errors:
            return subprocess.Popen(command, stderr=errors)

    def kill(self) -> None:
        """One life that ends in the middle of a callback."""
        process = self.start()
        try:
            self.wait(lambda: self.going(process.pid))
            time.sleep(random.uniform(0, 0.3))
            self.wait(lambda: self.going(process.pid))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.orphans += len(self.going(process.pid))
        self.note("crash")

    def finish(self, seconds: float) -> None:
        """A last life, which comes to its end."""
        process = self.start()
        self.wait(lambda: self.lines()[-1]["what"] != "crash")
        time.sleep(seconds)
        process.terminate()
        assert process.wait(PATIENCE) == 0, (self.folder / "errors").read_text()

    def wait(self, condition: Any) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, (self.folder / "errors").read_text()
            time.sleep(0.005)

    def note(self, what: str) -> None:
        wall = (START + (time.time() - self.epoch) * SPEED) * 1000
        with self.journal.open("a") as file:
            file.write(json.dumps({"wall": wall, "what": what, "about": None}) + "\n")

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()]

    def going(self, pid: int) -> set[str]:
        """The callbacks that have begun in this life and not ended."""
        found: set[str] = set()
        for line in self.lines():
            if line["what"] == "crash":
                found.clear()
            elif line["what"] in ("start", "retry"):
                found.add(line["about"][0])
            elif line["what"] in ("returned", "raised"):
                found.discard(line["about"])
        return found

    def violations(self) -> list[str]:
        trace = Trace("2026-03-29", ZONE)
        for line in self.lines():
            about = line["about"]
            if line["what"] == "init":
                about = ([tuple(one) for one in about[0]], about[1])
            trace.seen.append(Seen(line["wall"] - START * 1000, line["wall"], line["what"], about))
        return Oracle(trace, bound=BOUND + SLACK).check()


@contextmanager
def store(kind: str, folder: str) -> Iterator[str]:
    """The URL of a store of that kind, for as long as it takes."""
    if kind == "sqlite":
        yield f"sqlite:{folder}/jobs.db"
        return
    with running() as server:
        yield server.url(server.database())


def main(kills: int = 100, kind: str = "sqlite") -> int:
    """Kill it so often, and say what came of it; 1 if a rule was broken or too few were killed."""
    with tempfile.TemporaryDirectory() as folder, store(kind, folder) as url:
        campaign = Campaign(Path(folder), url)
        for n in range(kills):
            campaign.kill()
            if n % 20 == 19:
                print(f"{n + 1} kills, {campaign.orphans} callbacks cut off", flush=True)
        campaign.finish(5.0)
        wrong = campaign.violations()
        for violation in wrong:
            print(violation)
        kinds = [line["what"] for line in campaign.lines()]
        shown = bounds(campaign.lines(), "2026-03-29", ZONE, registered())
        if wrong and os.environ.get("KEEP"):
            Path(os.environ["KEEP"]).write_text(campaign.journal.read_text())
    good = not wrong and kinds.count("crash") == kills and campaign.orphans >= kills and kinds[-1] == "stopped"
    print(f"{kinds.count('start')} starts, {kinds.count('retry')} restarts and retries, {len(kinds)} observations")
    print(shown.words(SPEED))
    verdict = "PASS" if good else "FAIL"
    print(f"{verdict}: {kind}, {kills} kills, {campaign.orphans} callbacks cut off, {len(wrong)} violations")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(*(int(one) if one.isdigit() else one for one in sys.argv[1:])))
