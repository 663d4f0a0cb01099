"""krond under kill -9, with commands that run, trap SIGTERM, replace each other and daemonise: `make krond-kills`.

    python -m tests.campaigns.krond_kills [--kills 200] [--jobs 40] [--seed N]

Each command appends its key to a file before it does anything else. The daemon is killed at random moments and started
again, and its tables are edited meanwhile. Afterwards the store and those files must agree: each command started once,
each start has a record, each period has an outcome. A run may be unknown only if its daemon was killed between the
note that its command begins and the note of its process: at most one for each kill.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from kron.launchers.command.journal import Journal
from kron.rules.outcome import Outcome
from kron.rules.run_state import State
from tests.daemon.krond import NEVER, Krond, kron, until

EVERY = 5  # seconds between two periods of a job
ALLOW, REPLACE = "concurrency=allow,deadline=2m", "concurrency=replace,deadline=2m"
KINDS = {  # policy, what the command does after it has noted its start, and the states in which its run can end
    "quick": (ALLOW, "exit 0", {State.SUCCESS}),
    "failing": (ALLOW, "exit 3", {State.FAILED}),
    "running": (ALLOW, "sleep 4", {State.SUCCESS}),
    "long": (ALLOW, "sleep 20", {State.SUCCESS}),
    "stubborn": (ALLOW, "trap '' TERM; sleep 6", {State.SUCCESS}),
    "daemonising": (ALLOW, "setsid sleep 8 >/dev/null 2>&1 & exit 0", {State.SUCCESS}),
    "replaced": (REPLACE, "trap 'exit 9' TERM; sleep 7 & wait", {State.SUCCESS, State.FAILED, State.CANCELLED}),
    "skipping": ("concurrency=forbid,deadline=2m", "sleep 7", {State.SUCCESS}),
}


class Campaign:
    """A daemon, its jobs, and what must be true in the end."""

    def __init__(self, folder: Path, jobs: int, seed: int):
        self.chance, self.krond, self.edits, self.kills = random.Random(seed), Krond(folder), 0, 0
        self.jobs = [(f"{kind}-{number}", kind) for number, kind in zip(range(jobs), list(KINDS) * jobs, strict=False)]
        self.problems = list[str]()

    def write(self, part: int, *, over: bool = False) -> None:
        """Write one of four tables. An edit changes the environment of its commands, and nothing else."""
        lines = []
        for number, (name, kind) in enumerate(self.jobs):
            if number % 4 == part:
                policy, command, _ = KINDS[kind]
                start = NEVER if over else f"plus: {number % EVERY}-59/{EVERY} * * * * * @policy({policy})"
                noted = f"echo $KRON_KEY >> {self.krond.folder}/{name}.started; {command}"
                lines.append(self.krond.job(name, noted, start, more=f"env=EDIT={self.edits}"))
        self.krond.write(f"part{part}", *lines)
        self.edits += 1

    def run(self, kills: int) -> None:
        for part in range(4):
            self.write(part)
        self.krond.start()
        while self.kills < kills:
            time.sleep(self.chance.uniform(0.05, 3))
            if self.chance.random() < 0.2:
                self.write(self.chance.randrange(4))
            if self.chance.random() < 0.1 and self.krond.stop() != 0:
                self.problems.append("the daemon did not end with status 0")
            if self.krond.process.poll() is None:
                self.krond.kill()
                self.kills += 1
            time.sleep(self.chance.choice((0, 0, 0, 1, 5)))
            self.krond.start()
        for part in range(4):
            self.write(part, over=True)
        until(lambda: self.is_over(), 120)
        self.look_for_zombies()
        if self.krond.stop() != 0:
            self.problems.append("the daemon did not end with status 0")

    def is_over(self) -> bool:
        """Whether the last tables are in force and no run is open; the claim of a daemon that was killed ends first."""
        time.sleep(0.5)
        return all(
            run.open is False and state.job.source.text == NEVER for state, runs in self.read() for run in runs[:100]
        )

    def read(self):
        async def records(store):
            states = await store.get(await store.identities("", 1_000))
            return [(state, await store.runs(state.identity, 100_000)) for state in states]

        return self.krond.ask(records)

    def look_for_zombies(self) -> None:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                status, parent = path.read_text().rpartition(") ")[2].split()[:2]
            except OSError:
                continue
            if status == "Z" and int(parent) == self.krond.process.pid:
                self.problems.append(f"{path.parent.name} is a zombie")

    def examine(self) -> Counter:
        """Compare the store with the files of the commands. Returns how many runs ended in which state."""
        states, journal = Counter(), Journal(self.krond.state.parent / "journal")
        for state, runs in self.read():
            name = state.identity.rpartition(":")[2]
            expected = KINDS[name.partition("-")[0]][2]
            path = self.krond.folder / f"{name}.started"
            started = Counter(path.read_text().split() if path.exists() else [])
            self.problems += [f"{name}: {key} started {count} times" for key, count in started.items() if count > 1]
            keys = {run.key for run in runs if run.outcome is Outcome.EXECUTED}
            self.problems += [f"{name}: {key} started, and the store does not say so" for key in started.keys() - keys]
            for run in runs:
                states[str(run.state)] += 1
                if run.state is State.UNKNOWN:
                    entry = journal.look(run.key)
                    if entry is None or entry.pid is not None:
                        self.problems.append(f"{name}: {run.key} is unknown, and the journal has {entry}")
                elif run.outcome is Outcome.EXECUTED and (run.key not in started or run.state not in expected):
                    self.problems.append(f"{name}: {run.key} is {run.state}, started: {run.key in started}")
                elif run.open or run.outcome is None:
                    self.problems.append(f"{name}: {run.key} is {run.state}")
        if states["unknown"] > self.kills:
            self.problems.append(f"{states['unknown']} runs are unknown after {self.kills} kills")
        audit = kron("audit", "--store", f"sqlite:{self.krond.state}", "--max-unknown", str(self.kills))
        if audit.returncode:
            self.problems.append(f"audit: {audit.stdout[-2_000:]}{audit.stderr}")
        return states


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args(args)
    folder = Path(tempfile.mkdtemp(prefix="krond-kills-"))
    print(f"seed {given.seed}, {given.kills} kills, {given.jobs} jobs every {EVERY} s, in {folder}", flush=True)
    campaign = Campaign(folder, given.jobs, given.seed)
    try:
        campaign.run(given.kills)
        states = campaign.examine()
    finally:
        campaign.krond.close()
    for state, count in sorted(states.items()):
        print(f"{count:8d} {state}")
    for problem in campaign.problems[:20]:
        print(problem)
    good = not campaign.problems and states["success"] > 0
    if good:
        shutil.rmtree(folder)
    else:
        print(f"the files are kept in {folder}")
    counts = f"{campaign.kills} kills, {sum(states.values())} runs, {states['unknown']} unknown"
    print(f"{'PASS' if good else 'FAIL'}: {counts}, {len(campaign.problems)} problems; seed {given.seed}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
