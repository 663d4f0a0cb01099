"""Alerts: an API and two workers on a real PostgreSQL, scraped by a real Prometheus. Each alert fires for its cause.

`--quiet MINUTES`: ordinary load instead, and no alert. The durations of deploy/alerts.yaml are shortened mechanically.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

from tests.docs.page import ROOT
from tests.postgres import free_port, running
from tests.service.http import SECRET, Service, receiving, until
from tests.service.test_config import ready

KRON = Path(sys.executable).with_name("kron")
ALERTS = ROOT / "deploy" / "alerts.yaml"
WINDOW, HOLD = "20s", "1s"
SETTINGS = {
    "KRON_WEBHOOK_SECRET": SECRET,
    "KRON_WEBHOOK_ALLOW_PLAIN_HTTP": "true",
    "KRON_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
}
SHORT = {"TICK_MS": "200", "LOOKAHEAD_MS": "1000", "KRON_SHARD_LEASE_MS": "1500", "MISFIRE_GRACE_MS": "3000"}


def shortened(text):
    """The rules with short windows and holds; the expressions and thresholds stay."""
    text = re.sub(r"\[\d+[smh]\]", f"[{WINDOW}]", text)
    return re.sub(r"offset \d+[smh]", f"offset {WINDOW}", re.sub(r"for: \d+[smh]", f"for: {HOLD}", text))


def names():
    return [rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


class Fleet:
    """The composed processes, without containers."""

    def __init__(self, folder, url, short=True):
        self.folder, self.url = folder, url
        self.env = {**os.environ, **SETTINGS, **(SHORT if short else {})}
        self.ports = {name: free_port() for name in ("api", "worker1", "worker2", "prometheus")}
        self.living = {}

    def start(self, name):
        address = ["--listen", f"127.0.0.1:{self.ports[name]}", "--store", self.url]
        words = ["serve", "--no-worker", "--auth", "none"] if name == "api" else ["worker"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.living[name] = subprocess.Popen([KRON, *words, *address], env=self.env, stderr=log, stdout=log)
        until(lambda: ready(Service(self.ports[name], None)), 30)

    def signal(self, number, *which):
        for name in which:
            self.living[name].send_signal(number)
            if number == signal.SIGKILL:
                self.living[name].wait()

    def watch(self, rules, interval):
        """Start Prometheus."""
        (self.folder / "alerts.yaml").write_text(rules)
        targets = [f"127.0.0.1:{self.ports[name]}" for name in ("api", "worker1", "worker2")]
        jobs = [{"job_name": "kron", "static_configs": [{"targets": targets}]}]
        every = {"scrape_interval": interval, "evaluation_interval": interval, "scrape_timeout": interval}
        (self.folder / "prometheus.yaml").write_text(
            yaml.safe_dump({"global": every, "rule_files": ["alerts.yaml"], "scrape_configs": jobs})
        )
        address = f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}"
        words = [f"--config.file={self.folder}/prometheus.yaml", f"--storage.tsdb.path={self.folder}/data", address]
        with (self.folder / "prometheus.log").open("ab") as log:
            self.living["prometheus"] = subprocess.Popen(["prometheus", *words], stderr=log, stdout=log)
        until(lambda: self.firing() is not None, 30)

    def firing(self):
        """The names of the alerts that fire now; None while Prometheus does not answer."""
        try:
            place = f"http://127.0.0.1:{self.ports['prometheus']}/api/v1/alerts"
            with urllib.request.urlopen(place, timeout=5) as answer:
                found = json.load(answer)["data"]["alerts"]
        except OSError:
            return None
        return {each["labels"]["alertname"] for each in found if each["state"] == "firing"}

    def close(self):
        for process in self.living.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


@contextmanager
def composed(short=True):
    folder = Path(tempfile.mkdtemp(prefix="kron-alerts-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        server, receiver = stack.enter_context(running()), stack.enter_context(receiving())
        fleet = Fleet(folder, server.url(server.database()), short)
        stack.callback(fleet.close)
        for name in ("api", "worker1", "worker2"):
            fleet.start(name)
        fleet.watch(shortened(ALERTS.read_text()) if short else ALERTS.read_text(), "1s" if short else "15s")
        yield fleet, server, receiver


def every_alert():
    """Cause what each alert watches; the alerts that fired, each after its own cause."""
    workers, seen = ("worker1", "worker2"), []
    with composed() as (fleet, server, receiver):
        api = Service(fleet.ports["api"], None)
        refusing = {"schedule": "* * * * * *", "overlap_policy": "allow"}
        body = {**refusing, "target": receiver.url}
        assert api.put("/v1/schedules/plain", body).status == 200
        assert api.put("/v1/schedules/late", {**body, "catchup_policy": "fire_immediately"}).status == 200
        until(lambda: len(receiver.seen) > 5, 30)
        time.sleep(5)
        assert fleet.firing() == set(), fleet.firing()

        def fires(name, seconds):
            until(lambda: name in (fleet.firing() or ()), seconds)
            seen.append(name)

        fleet.signal(signal.SIGSTOP, *workers)
        time.sleep(12)
        fleet.signal(signal.SIGCONT, *workers)
        fires("KronDrift", 40)
        receiver.answer = lambda _: (404, {}, b"")
        fires("KronDeadLetters", 40)
        receiver.answer = None
        fleet.signal(signal.SIGKILL, *workers)
        fires("KronShardsUnowned", 40)
        fires("KronWaiting", 90)
        for name in workers:
            fleet.start(name)
        fires("KronMissed", 40)
        server.stop("immediate")
        fires("KronStoreDown", 60)
        return seen


def quiet(minutes):
    """Ordinary load; the alerts that fired, which should be none."""
    found = set()
    with composed(short=False) as (fleet, _, receiver):
        api = Service(fleet.ports["api"], None)
        for number in range(100):
            body = {"schedule": f"{number % 60} * * * * *", "target": receiver.url}
            assert api.put(f"/v1/schedules/q{number}", body).status == 200
        end = time.monotonic() + minutes * 60
        while time.monotonic() < end:
            time.sleep(5)
            found |= fleet.firing() or set()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quiet", type=float, metavar="MINUTES")
    args = parser.parse_args()
    if args.quiet is not None:
        found = quiet(args.quiet)
        print(
            f"{'FAIL' if found else 'PASS'}: {args.quiet:g} minutes of ordinary load, alerts: {sorted(found) or 'none'}"
        )
        return 1 if found else 0
    missing = set(names()) - set(every_alert())
    print(f"{'FAIL' if missing else 'PASS'}: {len(names())} alerts, not fired: {sorted(missing) or 'none'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
