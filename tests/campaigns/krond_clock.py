"""krond with a clock that jumps, and a krond that is stopped as by a suspend: `make krond-clock`.

    python -m tests.campaigns.krond_clock [--stopped 90]

Five daemons run at the same time, each with its own store. libfaketime sets the clock of four of them by +1 h, -1 h,
+1 day and -1 day; then the clocks that were set back are right again. The fifth is stopped by SIGSTOP. Each command
appends its key to a file. Afterwards no key is there twice, the records and the files agree, a run whose deadline
passed in the jump is missed, a run whose deadline did not is executed, and `kron audit` is clean.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from kron.timing.zone import rfc3339
from tests.campaigns.chaos.faults import faketime
from tests.daemon.krond import BIN, Krond, until

HOUR, DAY = 3_600, 86_400
JUMPS = {"+1 h": HOUR, "-1 h": -HOUR, "+1 day": DAY, "-1 day": -DAY}
AHEAD = 12  # seconds from the start to the first one-off job
QUIET = 10  # seconds for which a clock that was set back is watched


class Scene:
    """A daemon with its own clock, and what must be true of its records."""

    def __init__(self, folder: Path, name: str, span: int):
        """`span`: how many seconds the daemon does not see; negative if its clock is set back."""
        folder.mkdir()
        self.name, self.span, self.clock = name, span, folder / "clock"
        self.clock.write_text("+0", encoding="ascii")
        self.env = {"LD_PRELOAD": str(faketime()), "FAKETIME_TIMESTAMP_FILE": str(self.clock)}
        self.env |= {"FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        self.krond, self.problems = Krond(folder, **self.env), list[str]()
        self.begin = int(time.time())

    def start(self) -> None:
        """Write the table, and start the daemon. Two one-off jobs are due in the time that it does not see."""
        each, skip = "plus: * * * * * * @policy(concurrency=allow,deadline=20s)", max(self.span, 0)
        early = f"plus: at {rfc3339(self.begin + AHEAD)} @policy(deadline=5m)"
        judged = rfc3339(self.begin + AHEAD + 10 + skip // 2)
        jobs = {"tick": each, "minute": "* * * * * @policy(deadline=30s)", "early": early}
        if skip:
            jobs |= {
                "late": f"plus: at {judged} @policy(deadline={skip // 8}s)",
                "in-time": f"plus: at {judged} @policy(deadline={skip * 2}s)",
            }
        noted = f"echo $KRON_KEY >> {self.krond.folder}"
        self.krond.write("table", *(self.krond.job(name, f"{noted}/{name}", text) for name, text in jobs.items()))
        self.krond.start()

    def set_clock(self, seconds: int) -> None:
        self.clock.write_text(f"{seconds:+d}", encoding="ascii")

    def successes(self, name: str) -> int:
        return sum(run.state is State.SUCCESS for run in self.krond.runs(name))

    def check(self, holds: bool, text: str) -> None:
        if not holds:
            self.problems.append(f"{self.name}: {text}")

    def await_progress(self, text: str) -> None:
        """Wait until the job of every second has run five times more."""
        wanted = self.successes("tick") + 5
        try:
            until(lambda: self.successes("tick") >= wanted, 60)
        except AssertionError:
            self.check(False, f"no progress {text}")

    def examine(self) -> Counter:
        """Compare the store with the files of the commands. Returns how many runs have which state."""
        states = Counter()
        for identity in self.krond.names():
            name = identity.rpartition(":")[2]
            runs, path = self.krond.runs(name), self.krond.folder / name
            started = Counter(path.read_text().split() if path.exists() else [])
            states.update(str(run.state) for run in runs)
            recorded = {run.key for run in runs if run.outcome is Outcome.EXECUTED or run.open}
            certain = {run.key for run in runs if run.state is State.SUCCESS}
            self.check(max(started.values(), default=1) == 1, f"{name}: a command started twice")
            self.check(set(started) <= recorded, f"{name}: a command started without a record")
            self.check(certain <= set(started), f"{name}: a success whose command did not start")
        expected = {"early": State.SUCCESS} | (
            {"late": State.MISSED, "in-time": State.SUCCESS} if self.span > 0 else {}
        )
        for name, state in expected.items():
            found = [run.state for run in self.krond.runs(name)]
            self.check(found == [state], f"{name} is {found}, not {state}")
        command = [BIN / "kron", "audit", "--store", f"sqlite:{self.krond.state}"]
        env = {**os.environ, **self.env}
        audit = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
        self.check(audit.returncode == 0, f"audit: {audit.stdout[-1_000:]}{audit.stderr[-1_000:]}")
        return states

    def _check_return(self) -> None:
        """While the clock was set back nothing was recorded; the periods of that time were recorded afterwards."""
        runs, past = self.krond.runs("tick"), (self.begin + self.span // 2) * 1000
        again = sum(run.created < past for run in runs)
        self.check(again == 0, f"{again} runs were recorded while the clock showed handled periods")
        late = max(run.created - run.nominal * 1000 for run in runs)
        self.check(late >= QUIET * 500, "the clock was not set back")


def jump(scenes: list[Scene]) -> None:
    """Set each clock. A clock that was set back runs so for a while, and then is right again."""
    for scene in scenes:
        scene.set_clock(scene.span)
    time.sleep(QUIET)
    for scene in scenes:
        if scene.span < 0:
            scene.set_clock(0)
    for scene in scenes:
        scene.await_progress("after the jump")


def suspend(scene: Scene, seconds: int) -> threading.Timer:
    """Stop the daemon, and let it go on after some seconds. Returns the timer."""
    timer = threading.Timer(seconds, scene.krond.send, [signal.SIGCONT])
    scene.krond.send(signal.SIGSTOP)
    timer.start()
    return timer


def run(folder: Path, stopped: int) -> list[str]:
    scenes = [Scene(folder / str(number), *jump) for number, jump in enumerate(JUMPS.items())]
    frozen = Scene(folder / "stopped", f"SIGSTOP for {stopped} s", stopped)
    try:
        for scene in (*scenes, frozen):
            scene.begin = int(time.time())
            scene.start()
        for scene in (*scenes, frozen):
            until(lambda scene=scene: scene.successes("early") == 1, 60)
        timer = suspend(frozen, stopped)
        jump(scenes)
        timer.join()
        frozen.await_progress("after SIGCONT")
        for scene in (*scenes, frozen):
            scene.check(scene.krond.stop(60) == 0, "the daemon did not end with status 0")
        for scene in (*scenes, frozen):
            states = scene.examine()
            counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            print(f"{scene.name:18} {counts}; {len(scene.problems)} problems", flush=True)
    finally:
        for scene in (*scenes, frozen):
            scene.krond.close()
    return [problem for scene in (*scenes, frozen) for problem in scene.problems]


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stopped", type=int, default=90, help="seconds of the suspend")
    given = parser.parse_args(args)
    if faketime() is None:
        print("libfaketime is not installed: run make setup", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="krond-clock-"))
    print(f"4 jumps of the clock and a suspend of {given.stopped} s, in {folder}", flush=True)
    problems = run(folder, given.stopped)
    print("\n".join(problems[:20]), end="\n" if problems else "")
    if problems:
        print(f"the files are kept in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{'FAIL' if problems else 'PASS'}: {len(JUMPS) + 1} daemons, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
