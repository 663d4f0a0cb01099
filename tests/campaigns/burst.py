"""Many schedules due in one second, under the default settings of the service.

    python -m tests.campaigns.burst [--schedules 100000] [--minutes 20]             # make burst
    python -m tests.campaigns.burst --hanging [--schedules 10000] [--rounds 3]      # make burst-hanging
    python -m tests.campaigns.burst --failing [--schedules 1100] [--rounds 3]       # make burst-failing

An API process and two workers as in compose.yaml, on a real PostgreSQL that syncs every commit. A receiver in a process
of its own answers each webhook after 50 ms. Each period must arrive once, under its key. None may be missed, unknown or
lost.

`--hanging`: 5 % of the targets, of all tenants, lie on hosts of their own: on one, then on a host each. In every second
round those hosts accept calls and never answer; nothing else differs. The p99 lateness of the other targets must change
by less than 10 %, by the medians of the rounds. There are more rounds while those of a kind differ by more than that.

`--failing`: the same with 1,000 targets that answer and 100 others, each on a host of its own. Those never answer in
every second round; then they answer with 503; then they refuse connections.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from kron.apps.service.config import Config
from kron.timing.key import key_of
from tests import spent
from tests.campaigns.service_kills import Fleet, database_with_roles
from tests.campaigns.soak.__main__ import SETTINGS, say
from tests.docs.page import ROOT
from tests.postgres import free_port, running
from tests.service.http import NDJSON, Service, until
from tests.service.test_config import ready
from tests.service.tokens import token

DELAY = 0.05  # seconds until the receiver answers
TENANTS = 10  # of 10,000 schedules at most: the default quota
PART = 1_000  # schedules defined by one request
MARGIN = 2  # times as long as expected may pass until all are defined, or as for a part
LEAST = 8  # seconds more until they are due
EVERY = 10  # seconds between two lines of progress
ONE_IN = {"hanging": 20, "failing": 11}  # one target in so many lies on another host: 5 %, or 100 of 1,100
TROUBLES = {"hang": "hang", "error": "answer 503", "refuse": "refuse connections"}
ALLOWED = 0.10  # how much the p99 of the others may change
MOST = 21  # rounds of each kind, where those of a kind differ by more than that
WORKERS = ("worker0", "worker1")
ENDED = "SELECT count(*) FROM runs WHERE NOT open"
LEDGER = "SELECT encode(idempotency_key, 'hex'), status, outcome, reason FROM runs"


@dataclass
class Result:
    """What a burst came to. Lateness is in seconds, from the scheduled time to the arrival."""

    lateness: list = field(default_factory=list)
    wrong: Counter = field(default_factory=Counter)
    cores: dict = field(default_factory=dict)  # used on average, from the due time to the last arrival, by whom

    @property
    def rate(self):
        return len(self.lateness) / self.lateness[-1]

    def late(self, share):
        return self.lateness[min(len(self.lateness) - 1, int(len(self.lateness) * share))]


class Schedules:
    """The schedules of a burst, all of them due at one second of the day."""

    def __init__(self, count, due, ports, hosts, one_in):
        self.count, self.due, self.ports, self.hosts, self.one_in = count, due, ports, hosts, one_in
        self.keys = {key_of(f"t{n % TENANTS}/s{n:06d}", due): self._elsewhere(n) for n in range(count)}

    def _elsewhere(self, n):
        """Whether the nth target is one of the few on other hosts, which are of all tenants."""
        return bool(self.hosts) and n // TENANTS % self.one_in == 0

    def _target(self, n):
        if not self._elsewhere(n):
            return f"http://127.0.1.{n % TENANTS + 1}:{self.ports[0]}/hook"
        host = n // TENANTS // self.one_in * TENANTS + n % TENANTS if self.hosts == "many" else 0
        return f"http://127.1.{host // 250}.{host % 250 + 1}:{self.ports[1]}/hook"

    def define(self, port):
        """Define all of them."""
        at = datetime.fromtimestamp(self.due, UTC)
        when = f"{at.second} {at.minute} {at.hour} * * *"
        for tenant in range(TENANTS):
            numbers = range(tenant, self.count, TENANTS)
            for first in range(0, len(numbers), PART):
                targets = {f"s{n:06d}": self._target(n) for n in numbers[first : first + PART]}
                define(port, f"t{tenant}", when, targets)


def define(port, tenant, when, targets):
    """Define schedules by the bulk of the service. How many seconds it took."""
    began = time.monotonic()
    lines = [json.dumps({"id": name, "schedule": when, "target": target}) for name, target in targets.items()]
    reply = Service(port, None, token(tenant)).post("/v1/schedules:bulk", "\n".join(lines).encode(), **NDJSON)
    assert [line["status"] for line in reply.lines] == [200] * len(lines)
    return time.monotonic() - began


def some_time(port, count):
    """Seconds until so many schedules are certainly defined: some of another tenant, not due soon, tell."""
    month = (datetime.now(UTC).month + 5) % 12 + 1
    took = define(port, "probe", f"0 0 0 1 {month} *", {f"s{n:06d}": "http://127.0.0.1:9/" for n in range(PART)})
    return took * max(1, count / PART) * MARGIN + LEAST


class Arrivals:
    """What the receiver has written down: how often each key came, and when first."""

    def __init__(self, log):
        self.log, self.place, self.first, self.count = log, 0, {}, Counter()

    def read(self):
        with self.log.open() as file:
            file.seek(self.place)
            for line in file:
                key, at = line.split()
                self.first.setdefault(key, float(at))
                self.count[key] += 1
            self.place = file.tell()
        return self


def burst(server, folder, count, *, minutes=20.0, hosts="", trouble="", one_in=20):
    """One burst, from nothing to its verdict. `hosts`: where some targets lie; `trouble`: what is wrong with those."""
    database, log, ports = asyncio.run(database_with_roles(server)), folder / "received", (free_port(), free_port())
    log.touch()
    fleet = Fleet(server, database, folder, {})
    fleet.ports = {name: fleet.ports[name] for name in ("api0", *WORKERS)}
    with ExitStack() as stack:
        stack.callback(fleet.close)
        words = [*map(str, (*ports, log, DELAY)), *([trouble] if trouble else [])]
        command = [sys.executable, "-m", "tests.campaigns.burst_receiver", *words]
        receiver = subprocess.Popen(command, cwd=ROOT)
        stack.callback(receiver.wait)
        stack.callback(receiver.terminate)
        for name in fleet.ports:
            fleet.start(name)
        for port in fleet.ports.values():
            until(lambda port=port: ready(Service(port, None)), 60)
        due = int(time.time() + some_time(fleet.ports["api0"], count))
        schedules = Schedules(count, due, ports, hosts, one_in)
        schedules.define(fleet.ports["api0"])
        if time.time() > due - 2:
            raise SystemExit("the schedules were due before all of them were defined: the machine has too much to do")
        say(f"{count:,} schedules are defined, and due in {due - time.time():.0f} s")
        result = _watched(schedules, Arrivals(log), fleet, receiver, server, database, minutes)
        for name in WORKERS:
            fleet.living[name].terminate()
        for name in WORKERS:
            result.wrong["workers that failed"] += fleet.living[name].wait(60) != 0
    _judge(schedules, Arrivals(log).read(), server, database, result)
    return result


def _watched(schedules, arrivals, fleet, receiver, server, database, minutes):
    """Wait until all has arrived that can arrive, and is recorded; or for so many minutes."""
    others = [key for key, elsewhere in schedules.keys.items() if not elsewhere]
    time.sleep(max(0.0, schedules.due - time.time()))
    groups = {name: [fleet.living[name].pid] for name in WORKERS} | {"receiver": [receiver.pid]}

    def used():
        found = {name: spent.of(pids) for name, pids in groups.items()} | {"PostgreSQL": spent.of_server(server)}
        return found, spent.of_machine()

    (before, machine), told, result = used(), schedules.due, Result()
    while time.time() < schedules.due + minutes * 60:
        time.sleep(0.5)
        there = sum(key in arrivals.first for key in others) if len(arrivals.read().first) >= len(others) else 0
        if there == len(others):
            break
        if time.time() > told + EVERY:
            told = time.time()
            late = told - schedules.due
            say(f"{late:6.0f} s: {len(arrivals.first):,} arrived, {len(arrivals.first) / late:,.0f}/s")
    lasted = time.time() - schedules.due
    after, busy = used()
    result.cores = {name: spent.between(before[name], after[name]) / lasted for name in before}
    result.cores["the machine"] = (busy - machine) / lasted
    while time.time() < schedules.due + minutes * 60 and server.sql(ENDED, database)[0][0] < len(others):
        time.sleep(0.5)
    return result


def _judge(schedules, arrivals, server, database, result):
    """Compare the calls and the ledger with what was due.

    Of targets that hang only misses count. Those that answer with an error or refuse may end as not launched.
    """
    wrong, rows = result.wrong, server.sql(LEDGER, database)
    others = {key for key, elsewhere in schedules.keys.items() if not elsewhere}
    for key, status, outcome, reason in rows:
        wrong["missed"] += outcome == "missed" and (key in others or reason != "launch_failed")
        wrong["unknown"] += status == "unknown" or reason == "unknown"
        wrong["lost"] += status == "lost"
        wrong["neither executed nor open"] += outcome not in ("executed", "missed", None)
        wrong["not finished"] += key in others and status != "success"
    wrong["lost"] += len(others - arrivals.first.keys())
    wrong["not recorded"] += len(schedules.keys.keys() - {row[0] for row in rows})
    wrong["recorded more than once"] += len(rows) - len({row[0] for row in rows})
    wrong["called more than once"] += sum(arrivals.count[key] > 1 for key in others)
    wrong["called under another key"] += len(arrivals.first.keys() - schedules.keys.keys())
    result.lateness = sorted(arrivals.first[key] - schedules.due for key in others & arrivals.first.keys())


def _bound(result):
    """What kept it from being faster."""
    slots, cores = len(WORKERS) * Config().max_concurrent_launches / DELAY, os.cpu_count()
    ours = sum(used for name, used in result.cores.items() if name != "the machine")
    if result.rate > 0.8 * slots:
        most = Config().max_concurrent_launches
        return f"by the launches at once: {len(WORKERS)} x {most} / {DELAY:g} s = {slots:,.0f}/s"
    if result.cores["the machine"] > 0.9 * cores:
        return f"by the cores: {result.cores['the machine']:.2f} of {cores} busy, {ours:.2f} with this"
    if max(result.cores[name] for name in WORKERS) > 0.85:
        return "by the workers: each has one event loop, on one core"
    return f"by waiting: neither the {cores} cores nor the launches at once ({slots:,.0f}/s) are used up"


def _cores(result):
    each = sum(result.cores[name] for name in WORKERS) * result.lateness[-1] / len(result.lateness)
    cores = ", ".join(f"{name} {used:.2f}" for name, used in result.cores.items())
    return f"cores: {cores}; {each * 1e6:.0f} us of the workers a run"


def _lateness(result):
    return f"p50 {result.late(0.5):.2f} s, p99 {result.late(0.99):.2f} s, max {result.lateness[-1]:.2f} s late"


def at_once(server, folder, given):
    """The burst. Whether all went well."""
    result = burst(server, folder, given.schedules, minutes=given.minutes)
    bad = +result.wrong
    if result.lateness:
        say(f"{_lateness(result)}; {result.rate:,.0f} runs/s")
        say(_cores(result))
        say(f"bound {_bound(result)}")
    words = ", ".join(f"{result.wrong[name]} {name}" for name in dict.fromkeys(("missed", "unknown", "lost", *bad)))
    say(f"{'FAIL' if bad else 'PASS'}: {given.schedules:,} due in one second, {len(result.lateness):,} called; {words}")
    return not bad


def _spread(found):
    """How much the rounds of a kind differ at most, without the quarters at the ends."""
    middle = [sorted(each)[len(each) // 4 : len(each) - len(each) // 4] for each in found.values()]
    return max(each[-1] / each[0] - 1 for each in middle)


def beside_trouble(server, folder, given, hosts, trouble):
    """Bursts with and without targets in trouble, in turns. Whether the others are as late as without them."""
    one_in = ONE_IN["failing" if given.failing else "hanging"]
    found, bad, number = {False: [], True: []}, Counter(), 0
    while number < 2 * given.rounds or (number < 2 * MOST and (number % 2 or _spread(found) > ALLOWED)):
        is_on = number % 2 == 1
        place = folder / f"{hosts}-{trouble}{number}"
        place.mkdir()
        on = {"hosts": hosts, "trouble": trouble if is_on else "", "one_in": one_in}
        result = burst(server, place, given.schedules, minutes=given.minutes, **on)
        bad, number = bad + result.wrong, number + 1
        found[is_on].append(result.late(0.99))
        about = f"{trouble if is_on else 'answering':9} {_lateness(result)}; {result.rate:,.0f} runs/s"
        say(f"{about}; {_cores(result)}{'' if +result.wrong == Counter() else f'; {dict(+result.wrong)}'}")
    without, beside = median(found[False]), median(found[True])
    change = beside / without - 1
    good, where = not bad and abs(change) < ALLOWED, {"one": "one host", "many": "a host each"}[hosts]
    say(
        f"{'PASS' if good else 'FAIL'}: 1 in {one_in} of {given.schedules:,} targets {TROUBLES[trouble]}, on {where}: "
        f"p99 of the others {without:.2f} s -> {beside:.2f} s, {change:+.1%} (medians of {number // 2} rounds; "
        f"the middle half differs by up to {_spread(found):.0%}); {dict(bad) or 'nothing missed, unknown or lost'}"
    )
    return good


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, help="100,000; with --hanging 10,000; with --failing 1,100")
    parser.add_argument("--minutes", type=float, default=20, help="that a burst may take")
    parser.add_argument("--hanging", action="store_true", help="5 %% of the targets hang in every second round")
    parser.add_argument("--failing", action="store_true", help="100 of 1,100 targets fail in every second round")
    parser.add_argument("--rounds", type=int, default=3, help="of each kind, at least")
    parser.add_argument("--hosts", choices=("one", "many"), help="that hang; both if not given")
    parser.add_argument("--folder", default="/var/tmp", help="where the database has its files")
    given = parser.parse_args(args)
    given.schedules = given.schedules or (10_000 if given.hanging else 1_100 if given.failing else 100_000)
    folder = Path(tempfile.mkdtemp(prefix="kron-burst-"))
    with running(SETTINGS, folder=given.folder) as server:
        if given.failing:
            found = [beside_trouble(server, folder, given, "many", trouble) for trouble in TROUBLES]
        elif given.hanging:
            kinds = [given.hosts] if given.hosts else ["one", "many"]
            found = [beside_trouble(server, folder, given, hosts, "hang") for hosts in kinds]
        else:
            found = [at_once(server, folder, given)]
    if all(found):
        shutil.rmtree(folder)
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
