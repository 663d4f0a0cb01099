"""Two services on one PostgreSQL, and kill -9: no period is lost, and each has one key however often it comes."""

import asyncio
import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from collections import defaultdict
from pathlib import Path

import pytest

from kron.timing.key import key_of
from kron.timing.zone import instant_of
from tests.campaigns.service_kills import campaign
from tests.service.http import LOOPBACK, SECRET, Service, receiving, until
from tests.service.test_config import free_port, ready

SCHEDULES = 20


def start(database, folder, name):
    port = free_port()
    env = {**os.environ, "KRON_AUTH": "none", "TICK_MS": "100", "KRON_STORE": database, "KRON_WEBHOOK_SECRET": SECRET}
    env |= {"KRON_WEBHOOK_ALLOW_PLAIN_HTTP": "true", "KRON_WEBHOOK_ALLOWED_NETWORKS": LOOPBACK[0]}
    command = [str(Path(sys.executable).parent / "kron"), "serve", "--listen", f"127.0.0.1:{port}"]
    with (folder / name).open("w") as log:
        process = subprocess.Popen(command, env=env, stderr=log)
    service = Service(port, None)
    until(lambda: ready(service), 30)
    return process, service


@pytest.mark.first
@pytest.mark.slow
@pytest.mark.req("SVC-GOAL-ONCE")
def test_a_killed_service_loses_no_period(database, tmp_path):
    processes = []
    with receiving() as receiver:
        try:
            (victim, one), (_, other) = (processes.append(p) or p for p in (start(database, tmp_path, n) for n in "ab"))
            body = {"schedule": "* * * * * *", "target": receiver.url, "overlap_policy": "allow"}
            for n in range(SCHEDULES):
                assert (one, other)[n % 2].put(
                    f"/v1/schedules/s{n}", {**body, "catchup_policy": "fire_immediately"}
                ).status == 200
            time.sleep(4)
            victim.kill()
            victim.wait(10)
            killed = int(time.time())
            until(lambda: whole(receiver, killed + 20), 60)  # a claim lasts 30 s
            for n in range(SCHEDULES):
                other.post(f"/v1/schedules/s{n}/pause", {})
            until(lambda: whole(receiver), 60)  # what is on its way arrives
        finally:
            for process, _ in processes:
                process.kill()
                process.wait(10)
    seen = defaultdict(lambda: defaultdict(list))
    for _, headers, text in list(receiver.seen):
        data = json.loads(text)["data"]
        seen[data["schedule_id"]][instant_of(data["period"])].append((headers["webhook-id"], data["attempt"]))
    assert len(seen) == SCHEDULES
    for name, periods in seen.items():
        assert sorted(periods) == list(range(min(periods), max(periods) + 1)), name  # none is missing
        for period, arrivals in periods.items():
            assert {key for key, _ in arrivals} == {key_of(name, period)}
            attempts = [attempt for _, attempt in arrivals]
            assert len(attempts) == len(set(attempts)), (name, period)  # no attempt was sent twice


def whole(receiver, upto=0):
    """Whether every second of every schedule has arrived, from its first run to its last, and at least until then."""
    arrived = defaultdict(set)
    for _, _, text in list(receiver.seen):
        data = json.loads(text)["data"]
        arrived[data["schedule_id"]].add(instant_of(data["period"]))
    gapless = (periods >= set(range(min(periods), max(upto, *periods) + 1)) for periods in arrived.values())
    return len(arrived) == SCHEDULES and all(gapless)


@pytest.mark.slow
def test_the_interface_and_workers_are_killed_and_all_that_was_confirmed_is_there(server, tmp_path):
    """A few seconds of `make service-kills`."""
    given = Namespace(minutes=0.13, schedules=30, every=1.0, calm=2, seed=7)
    found, users, fleet = asyncio.run(campaign(given, server, tmp_path))
    assert found.good, (found.lost, found.doubled, found.unexplained)
    assert sum(fleet.kills.values()) >= 2
    assert found.periods and found.arrivals and users.count["edit"]
