"""Workers on one SQLite file, killed with kill -9 at random moments and started anew: `make crash-sqlite`.

Each effect is appended to a file before the launcher answers. Meanwhile schedules are paused, edited and triggered by
hand. Afterwards the database and that file alone must tell what became of every period: none lost, none recorded
twice, no effect without a record, nothing left open.

    python -m tests.campaigns.sqlite_kills [--kills 200] [--workers 2] [--seed N]
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from kron import KronError, parse
from kron.engine.clock import SystemClock, SystemTimer
from kron.engine.registrar import Registrar
from kron.engine.settings import Settings
from kron.engine.worker import Worker
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job
from kron.timing.period import next_nominal
from kron.timing.schedule.policy import (
    DECLARATIVE,
    KRON,
    MILLISECOND,
    SECOND,
    SERVICE,
    Catchup,
    FirstPeriod,
    Overlap,
    Policy,
    WorkerLossPolicy,
)

SETTINGS = Settings(tick=50, batch=100, lease=1_500, shard_lease=700, timeout=500)
MANY = 1_000_000
EFFECT, LOST = "effect", "lost on the way"
COMMON = {
    "first_period": FirstPeriod.AFTER,
    "run_lease": 2 * SECOND,
    "launch_backoff": 100 * MILLISECOND,
    "queue_limit": 20,
}
REPLAY = {"catchup": Catchup.ALL, "catchup_limit": 20}
POLICIES = {
    "allow, all": replace(SERVICE, overlap=Overlap.ALLOW, **REPLAY, **COMMON),
    "skip, none": replace(SERVICE, catchup_limit=3, **COMMON),
    "queue, all": replace(SERVICE, overlap=Overlap.QUEUE, **REPLAY, **COMMON),
    "coalesce, latest": replace(DECLARATIVE, resolution=SECOND, **COMMON),
    "replace, by deadline": replace(KRON, overlap=Overlap.REPLACE, deadline=30 * SECOND, **COMMON),
    "allow, spread": replace(SERVICE, overlap=Overlap.ALLOW, catchup=Catchup.SPREAD, spread_over=SECOND, **COMMON),
    "skip, jitter": replace(SERVICE, jitter=1_500 * MILLISECOND, catchup_limit=3, **COMMON),
    "skip, at most once": replace(KRON, deadline=10 * SECOND, catchup_limit=5, **COMMON),
}
NAMES = [f"{policy}, {copy}" for policy in POLICIES for copy in "abc"]
EDITED = [name for name in NAMES if "jitter" not in name]  # an edit may fall between a nominal time and its jitter


def policy_of(name: str) -> Policy:
    return POLICIES[name.rpartition(",")[0]]


def a_job(name: str, description: str = "", end: int | None = None) -> Job:
    schedule = replace(parse("* * * * * *", dialect="service"), policy=policy_of(name))
    return Job(name, schedule, description=description, target="effect:it", end=end)


class Effects:
    """A launcher whose effect is a line in a file, written before it answers, if it answers.

    A request that is lost on the way is a line too: it left, and Kron cannot know that it did not arrive.
    """

    def __init__(self, file: Path, registrar: Registrar, chance: random.Random) -> None:
        self.file = os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        self.registrar, self.chance = registrar, chance
        self.going: set[asyncio.Task[None]] = set()

    async def start(self, launch) -> LaunchResult:
        await asyncio.sleep(self.chance.random() / 50)
        luck = self.chance.random()
        if luck < 0.03:
            return LaunchResult.RETRYABLE
        run = launch.run
        if luck < 0.04:
            self._note(run, LOST)
            raise ConnectionError("lost on the way there")
        self._note(run, EFFECT)
        if luck < 0.06:
            raise ConnectionError("lost on the way back")
        task = asyncio.create_task(self._end(run.key))
        self.going.add(task)
        task.add_done_callback(self.going.discard)
        await asyncio.sleep(self.chance.random() / 50)
        return LaunchResult.OK

    async def cancel(self, run) -> None:
        pass

    def _note(self, run, what: str) -> None:
        os.write(self.file, (json.dumps([run.key, run.attempt, run.owner, what]) + "\n").encode())

    async def _end(self, key: str) -> None:
        await asyncio.sleep(self.chance.random() * 0.8)
        try:
            await self.registrar.report(key, self.chance.choice([Report.SUCCESS, Report.SUCCESS, Report.FAILED]))
        except KronError as error:
            if error.code != "CONTENDED":
                raise


async def work(folder: Path, owner: str, seed: int) -> None:
    """One life of a worker. It ends by itself when the file `stop` appears."""
    store = SqliteStore(folder / "kron.db", SystemClock())
    launcher = Effects(folder / "effects", Registrar(store), random.Random(seed))
    worker = Worker(store, {"effect": launcher}, SystemTimer(), owner=owner, settings=SETTINGS)
    (folder / f"ready {owner}").touch()
    while not (folder / "stop").exists():
        await asyncio.sleep(await worker.tick() / 1000)
    await asyncio.gather(*launcher.going)
    await store.close()


@dataclass
class Fleet:
    """The workers that live, and how many were killed."""

    folder: Path
    chance: random.Random
    living: list[tuple[str, subprocess.Popen]] = field(default_factory=list)
    born: int = 0
    killed: int = 0

    def start(self) -> None:
        self.born += 1
        owner = f"w{self.born}"
        command = [sys.executable, "-m", "tests.campaigns.sqlite_kills", "work", str(self.folder), owner]
        self.living.append((owner, subprocess.Popen([*command, str(self.chance.randrange(1 << 30))])))

    async def next_victim(self) -> int:
        """Somebody who works, mostly; sometimes one who may be just starting."""
        victim = self.chance.randrange(len(self.living))
        owner, process = self.living[victim]
        while self.chance.random() < 0.9 and process.poll() is None and not (self.folder / f"ready {owner}").exists():
            await asyncio.sleep(0.1)
        return victim

    def kill(self, victim: int) -> None:
        owner, process = self.living.pop(victim)
        if process.poll() is not None:
            raise SystemExit(f"FAIL: the worker {owner} ended by itself with {process.returncode}")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.killed += 1
        self.start()

    def stop(self) -> None:
        (self.folder / "stop").touch()
        for owner, process in self.living:
            if process.wait(60) != 0:
                raise SystemExit(f"FAIL: the worker {owner} ended with {process.returncode}")

    def abandon(self) -> None:
        for _, process in self.living:
            process.kill()
            process.wait()


async def disturb(registrar: Registrar, chance: random.Random) -> None:
    """What users do meanwhile."""
    name, deed = chance.choice(NAMES), chance.randrange(8)
    try:
        if deed == 0:
            await registrar.pause(name)
        elif deed == 1:
            await registrar.trigger(name, f"request {chance.randrange(100)}")
        elif deed == 2 and name in EDITED:
            await edit(registrar, name, f"edit {chance.random()}")
        else:
            await registrar.resume(name)
    except KronError as error:
        if error.code != "CONTENDED":
            raise


async def edit(registrar: Registrar, name: str, description: str) -> None:
    """A new revision, with the same calendar. What a pause swallowed is told when it ends, so it ends first."""
    await registrar.resume(name)
    await registrar.upsert(a_job(name, description))


async def campaign(fleet: Fleet, store: SqliteStore, kills: int, workers: int) -> None:
    registrar, chance = Registrar(store), fleet.chance
    for name in NAMES:
        await registrar.upsert(a_job(name))
    for _ in range(workers):
        fleet.start()
    began = time.monotonic()
    while fleet.killed < kills:
        victim = await fleet.next_victim()
        for _ in range(3):
            await asyncio.sleep(chance.random() / 3)
            await disturb(registrar, chance)
        fleet.kill(victim)
        if fleet.killed % 10 == 0:
            print(f"{fleet.killed:4d} kills, {time.monotonic() - began:4.0f} s", flush=True)
    await quiesce(registrar, store)


async def quiesce(registrar: Registrar, store: SqliteStore) -> None:
    """Let the workers catch up, give every schedule an end, and wait until nothing is open any more."""
    for name in NAMES:
        await registrar.resume(name)
    await _until(store, "they have caught up", lambda case, now: case.cursor >= now // 1000 - 5)
    for name in NAMES:
        end = await store.now() // 1000 + 4
        await (registrar.upsert(a_job(name, "the end", end)) if name in EDITED else registrar.delete(name))
    await _until(store, "all has ended", lambda case, now: case.next_check_at is None and not case.open_runs)


async def _until(store, what, done) -> None:
    print(f"waiting until {what}", flush=True)
    for _ in range(600):
        cases, now = await store.get(NAMES), await store.now()
        if all(done(case, now) for case in cases):
            return
        await asyncio.sleep(0.2)
    open_ = [
        (case.identity, case.cursor - now // 1000, case.next_check_at, case.paused, case.open_runs[:3])
        for case in cases
    ]
    raise SystemExit(f"FAIL: not {what} after two minutes: {open_}")


@dataclass
class Findings:
    """What the database and the effects say."""

    periods: int = 0
    effects: int = 0
    again: int = 0
    outcomes: Counter = field(default_factory=Counter)
    lost: list = field(default_factory=list)
    doubt: list = field(default_factory=list)  # Kron cannot know: its worker was killed, or the request was lost
    doubled: list = field(default_factory=list)
    unexplained: list = field(default_factory=list)


async def examine(store: SqliteStore, folder: Path) -> Findings:
    found = Findings()
    lines = (folder / "effects").read_text(encoding="utf-8").splitlines()
    notes = [json.loads(line) for line in lines]
    sent = [(key, attempt, owner) for key, attempt, owner, what in notes if what == EFFECT]
    astray = {(key, attempt) for key, attempt, _, what in notes if what == LOST}
    found.doubled += [("an attempt sent twice", attempt) for attempt, n in Counter(sent).items() if n > 1]
    effects = Counter(key for key, _, _ in sent)
    found.effects, found.again = len(effects), len(sent) - len(effects)
    ledger, deleted = {}, {case.identity for case in await store.get(NAMES) if case.deleted}
    for name in NAMES:
        runs = await store.runs(name, MANY)
        ledger |= {run.key: run for run in runs}
        await _periods(store, name, [run for run in runs if not run.trigger], found)
    found.unexplained += [("an effect without a record", key) for key in effects if key not in ledger]
    for run in ledger.values():
        found.outcomes[f"{run.outcome}" + (f" ({run.reason})" if run.reason else "")] += 1
        ended = run.identity in deleted and (run.key, run.attempt) in astray  # deleted before the next attempt
        _one_run(run, effects[run.key], policy_of(run.identity), found, ended=ended)
    return found


async def _periods(store, name, runs, found) -> None:
    """Every period from the first moment to the last has one record, or lies in one gap."""
    (case,), gaps, revisions = await store.get([name]), await store.gaps(name), await store.revisions(name)
    records = Counter(run.nominal for run in runs)
    found.doubled += [(name, nominal) for nominal, n in records.items() if n > 1]
    nominal, expected = next_nominal(case.job.schedule, revisions[0].at // 1000), []
    last = case.cursor if case.deleted else max(case.job.end, revisions[-1].at // 1000)  # when it learnt of its end
    while nominal is not None and nominal <= last:
        expected.append(nominal)
        nominal = next_nominal(case.job.schedule, nominal)
    found.periods += len(expected)
    for nominal in expected:
        within = sum(gap.first <= nominal <= gap.last for gap in gaps)
        if nominal not in records and within == 0:
            found.lost.append((name, nominal))
        if within > 1:
            found.doubled.append((name, nominal, "in two gaps"))
    strange = (
        records.keys() - set(expected) - (case.handled_ahead if case.deleted else set())
    )  # jitter may bring one early
    found.unexplained += [(name, nominal, "no such period") for nominal in strange]
    for gap in gaps:
        bare = [nominal for nominal in expected if gap.first <= nominal <= gap.last and nominal not in records]
        found.outcomes[f"{gap.outcome} ({gap.reason}) in gaps"] += gap.count
        if len(bare) != gap.count:
            found.unexplained.append((name, gap, f"but {len(bare)} periods without a record"))


def _one_run(run, effects, policy, found, *, ended: bool) -> None:
    about = (run.identity, run.nominal, run.trigger, run.state, run.outcome, run.reason, run.attempt, effects)
    if run.open or run.outcome is None or (run.outcome is not Outcome.EXECUTED and run.reason is None):
        found.unexplained.append(about)
    if run.outcome is not Outcome.EXECUTED and effects:
        found.unexplained.append((*about, "it has an effect"))
    if run.outcome is Outcome.EXECUTED and not effects:
        once = policy.on_worker_loss is WorkerLossPolicy.LOST  # its worker was killed
        doubt = run.reason is Reason.UNKNOWN and (once or ended)
        (found.doubt if doubt else found.lost).append((*about, "it has no effect"))
    if effects > run.attempt or (policy.on_worker_loss is WorkerLossPolicy.LOST and effects > 1):
        found.doubled.append((*about, "more effects than attempts"))
    if run.outcome is not Outcome.EXECUTED and run.state not in (State.SKIPPED, State.MISSED, State.FAILED):
        found.unexplained.append((*about, "the state and the verdict disagree"))


async def run(kills: int, workers: int, seed: int, folder: Path) -> int:
    print(f"seed {seed}, {kills} kills, {workers} workers, {len(NAMES)} periods a second, in {folder}", flush=True)
    store = SqliteStore(folder / "kron.db", SystemClock())
    fleet = Fleet(folder, random.Random(seed))
    try:
        await campaign(fleet, store, kills, workers)
        fleet.stop()
    finally:
        fleet.abandon()
    found = await examine(store, folder)
    healthy = store.file.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await store.close()
    for outcome, count in sorted(found.outcomes.items()):
        print(f"{count:8d} {outcome}")
    for kind in ("lost", "doubled", "unexplained"):
        for each in getattr(found, kind)[:10]:
            print(f"{kind}: {each}")
    good = healthy and not (found.lost or found.doubled or found.unexplained)
    if good:
        shutil.rmtree(folder)
    else:
        print(f"the files are kept in {folder}")
    print(
        f"{'PASS' if good else 'FAIL'}: {fleet.killed} kills, {found.periods} periods: {len(found.lost)} lost, "
        f"{len(found.doubled)} doubled, {len(found.unexplained)} unexplained; {len(found.doubt)} in doubt, "
        f"{found.effects} effects, "
        f"{found.again} sent again under the same key; seed {seed}"
    )
    return 0 if good else 1


def main(args: list[str]) -> int:
    if args[:1] == ["work"]:
        asyncio.run(work(Path(args[1]), args[2], int(args[3])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args(args)
    folder = Path(tempfile.mkdtemp(prefix="kron-kills-"))
    return asyncio.run(run(given.kills, given.workers, given.seed, folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
