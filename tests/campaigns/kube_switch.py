"""CronJobs that are due every minute are switched to KronJobs and back on a real control plane: `make kube-switch`.

Each command is killed between its steps and repeated. A watcher that knows neither counts the Jobs of each period:
none may be lost, and none may be there twice.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kron.kube.kind import CRONJOB, JOB, seconds_of
from kron.kube.names import PERIOD_ID, SCHEDULED
from tests.kube.cluster.control_plane import running
from tests.kube.cluster.operator_process import OperatorProcess
from tests.kube.cluster.pods import template
from tests.kube.cluster.release import built_release
from tests.kube.conftest import KRON, apply_definition

NAMESPACE, MINUTE = "switch", 60
MAX_LINES = 8  # more than a command prints
WATCH_SECONDS = 2.0
SETTLE_MINUTES = 2  # between two switches
LATE_SECONDS = 45  # after a period, in which its Job must be there


class Watcher(threading.Thread):
    """Reader of all Jobs: for each name and period, the Jobs that have been there."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopped = cluster, threading.Event()
        self.jobs = defaultdict(set)

    def run(self):
        while not self.stopped.wait(WATCH_SECONDS):
            self.look()

    def look(self):
        for job in self.cluster.do("GET", JOB.path(NAMESPACE))["items"]:
            metadata = job["metadata"]
            (owner,) = metadata["ownerReferences"]
            annotations = metadata["annotations"]
            period = annotations.get(PERIOD_ID) or annotations.get(SCHEDULED)
            self.jobs[owner["name"], seconds_of(period)].add((owner["kind"], metadata["uid"]))


class Switches:
    """Commands that are killed after each of their lines and repeated."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        self.kills = 0

    def switch_all(self, option, names):
        with ThreadPoolExecutor(len(names)) as pool:
            return list(pool.map(lambda name: self.switch(option, name), names))

    def switch(self, option, name):
        """Switch one CronJob: kill the command after its first line, then after its second line, and so on."""
        for lines in range(1, MAX_LINES):
            with (self.folder / f"{name}.log").open("a", encoding="utf-8") as log:
                if self.is_done(option, name, lines, log):
                    return
        raise SystemExit(f"FAIL: {option} {name} did not end:\n{(self.folder / f'{name}.log').read_text()}")

    def is_done(self, option, name, lines, log):
        process = subprocess.Popen(
            [KRON, "import", "cronjobs", option, f"{NAMESPACE}/{name}"],
            env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        for number, line in enumerate(process.stdout, 1):
            log.write(f"{option} {line}")
            if number == lines:
                process.send_signal(signal.SIGKILL)
        if process.wait() not in (0, -signal.SIGKILL):
            log.flush()
            raise SystemExit(f"FAIL: {option} {name}:\n{Path(log.name).read_text(encoding='utf-8')}")
        self.kills += process.returncode != 0
        return process.returncode == 0


def make_cronjobs(cluster, names):
    body = {"schedule": "* * * * *", "timeZone": "UTC", "successfulJobsHistoryLimit": 1000}
    body |= {"failedJobsHistoryLimit": 1000, "jobTemplate": template(parallelism=0)}
    for name in names:
        metadata = {"name": name}
        cluster.do("POST", CRONJOB.path(NAMESPACE), {"metadata": metadata, "spec": body})


def result(watcher, names, first, last):
    """The periods between two times that are lost, those that are doubled, and how many of each kind ran."""
    lost, doubled, kinds = [], [], defaultdict(int)
    for name in names:
        for period in range(first, last + 1, MINUTE):
            jobs = watcher.jobs.get((name, period), set())
            lost += [(name, period)] if not jobs else []
            doubled += [(name, period)] if len(jobs) > 1 else []
            for kind, _ in jobs:
                kinds[kind] += 1
    return lost, doubled, kinds


def campaign(cluster, count, rounds, folder):
    apply_definition(cluster)
    cluster.do("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    switched = [f"s{number}" for number in range(count)]
    others = [f"load{number}" for number in range(count)]
    make_cronjobs(cluster, [*switched, *others])
    watcher, switches = Watcher(cluster), Switches(cluster, folder)
    watcher.start()
    first = (int(time.time()) // MINUTE + 2) * MINUTE
    with OperatorProcess(cluster, NAMESPACE, folder):
        time.sleep(max(0.0, first + 5 - time.time()))
        for number in range(rounds):
            for option in ("--switch", "--switch-back"):
                switches.switch_all(option, switched)
                print(f"round {number + 1}, {option}: {count} done, {switches.kills} kills so far", flush=True)
                time.sleep(SETTLE_MINUTES * MINUTE)
        last = int(time.time()) // MINUTE * MINUTE - MINUTE
        time.sleep(LATE_SECONDS)
    watcher.stopped.set()
    watcher.join()
    watcher.look()
    lost, doubled, kinds = result(watcher, [*switched, *others], first, last)
    periods = (last - first) // MINUTE + 1
    text = (
        f"{count} CronJobs switched and back {rounds} times beside {count} others, {switches.kills} kills -9 between"
        f" steps; {periods} periods each, Jobs of CronJobs {kinds['CronJob']}, of KronJobs {kinds['KronJob']}:"
        f" {len(lost)} lost, {len(doubled)} doubled"
    )
    is_good = not lost and not doubled and kinds["KronJob"] and switches.kills
    print(f"{'PASS' if is_good else 'FAIL'}: {text}")
    for kind, found in (("lost", lost), ("doubled", doubled)):
        for name, period in found[:10]:
            print(f"  {kind}: {name} at {time.strftime('%H:%M:%SZ', time.gmtime(period))}")
    return int(not is_good)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.kube_switch")
    parser.add_argument("--count", type=int, default=12, help="CronJobs that are switched, and others beside them")
    parser.add_argument("--rounds", type=int, default=2, help="times that each is switched and back")
    options = parser.parse_args()
    release = built_release()
    with tempfile.TemporaryDirectory(prefix="kron-switch-") as folder, running(release) as cluster:
        return campaign(cluster, options.count, options.rounds, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
