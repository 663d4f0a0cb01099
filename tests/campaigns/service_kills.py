"""The service under kill -9: `make service-kills`.

    python -m tests.campaigns.service_kills [--minutes 5] [--schedules 100] [--seed N]

Two processes of the interface and two that keep time, on a real PostgreSQL with their roles, are killed at random and
started again, while tenants edit, pause, trigger, backfill and redrive, and a receiver takes webhooks, refuses some,
hangs up on others and reports. Afterwards the ledger and the receiver's log must tell what became of every period, and
all that the service has confirmed must be there.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path

from kron.apps.wiring import open_store
from kron.stores.postgres.migrate import migrate
from tests.campaigns.chaos.findings import DROPPED, examine
from tests.postgres import free_port, running
from tests.service.http import LOOPBACK, NDJSON, REPORT, SECRET, Service
from tests.service.tokens import settings, token

KRON = str(Path(sys.executable).parent / "kron")
PROCESSES = ("api0", "api1", "worker0", "worker1")
KINDS = {  # of a tenant's schedules; the chaos knows them by these names
    "skip-none": {},
    "allow-all": {"overlap_policy": "allow", "catchup_policy": "fire_immediately"},
    "queue-all": {"overlap_policy": "queue", "catchup_policy": "fire_immediately"},
    "spread": {"overlap_policy": "allow", "catchup_policy": "spread"},
    "jitter": {"jitter_ms": 1500},
}
HASTE = {  # more happens in a minute than under the defaults
    "run_lease_ms": 20_000,
    "log": "false",
    "report_secret": REPORT,
    "max_triggers_per_minute": 1_000_000,
    "tick_ms": 200,
    "lookahead_ms": 5_000,
}
CLAIM = 35_000  # milliseconds: a claim of somebody who was killed is over by then
LOST_ATTEMPTS = """
SELECT a.at, a.duration, a.excerpt FROM run_attempts a JOIN runs r USING (tenant_id, idempotency_key)
WHERE r.schedule_id = %s AND r.run_at = %s AND r.trigger_id = %s AND a.result = 'lost'
"""
REVISIONS = "SELECT schedule_id, max(number) FROM schedule_revisions GROUP BY 1"


class Fleet:
    """The processes, each with a port and a role of its own, under the defaults and what is `changed` of them."""

    def __init__(self, server, database, folder, changed):
        self.folder, self.ports = folder, {name: free_port() for name in PROCESSES}
        self.living, self.kills = {}, Counter()
        self.deaths = []  # process id, and when it was killed in milliseconds
        common = settings(folder) | {
            "webhook_secret": SECRET,
            "webhook_allow_plain_http": "true",
            "webhook_allowed_networks": LOOPBACK[0],
        }
        common |= changed
        if "report_secret" in changed:
            common["public_url"] = f"http://127.0.0.1:{self.ports['api0']}"
        self.env = {f"KRON_{name.upper()}": str(value) for name, value in common.items()}
        self.stores = {"api": server.url(database, "kron_api"), "worker": server.url(database, "kron_worker")}

    def start(self, name):
        kind = name[:-1]
        verb, more = ("serve", ["--no-worker"]) if kind == "api" else ("worker", [])
        command = [KRON, verb, "--listen", f"127.0.0.1:{self.ports[name]}", "--store", self.stores[kind], *more]
        with (self.folder / f"{name}.log").open("a") as log:
            self.living[name] = subprocess.Popen(command, env={**os.environ, **self.env}, stderr=log, stdout=log)

    def kill(self, name):
        self.living[name].kill()
        self.living[name].wait()
        self.kills[name[:-1]] += 1
        self.deaths.append((self.living[name].pid, int(time.time() * 1000)))

    def api(self, chance, tenant):
        return Service(self.ports[chance.choice(("api0", "api1"))], None, token(tenant))

    def close(self):
        for process in self.living.values():
            process.kill()
            process.wait()


class Receiver:
    """Writes down what it takes before it answers. It is full at times, hangs up at others, and reports in the end."""

    def __init__(self, log, chance, fleet):
        self.log, self.chance, self.fleet = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY), chance, fleet
        self.going = set()

    async def serve(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].split()[0])
            await self._take(json.loads(await reader.readexactly(size))["data"], writer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    async def _take(self, data, writer):
        luck = self.chance.random()
        if luck < 0.02:
            self._note(data, DROPPED)
            return  # hangs up before the effect
        if luck < 0.05:
            writer.write(b"HTTP/1.1 503 x\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n")
            return
        if luck < 0.06:
            writer.write(b"HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n")
            return
        self._note(data, True)
        task = asyncio.create_task(self._report(data))
        self.going.add(task)
        task.add_done_callback(self.going.discard)
        if luck < 0.08:
            return  # hangs up after it
        writer.write(b"HTTP/1.1 204 x\r\n\r\n")

    def _note(self, data, what):
        os.write(self.log, (json.dumps([data["key"], data["attempt"], time.time(), what]) + "\n").encode())

    async def _report(self, data):
        await asyncio.sleep(self.chance.random() * 2)
        where = data["report"]["url"].partition("/v1/")[2]
        for _ in range(10):
            service = Service(self.fleet.ports[self.chance.choice(("api0", "api1"))], None, data["report"]["token"])
            body = {"status": self.chance.choice(["success", "success", "failed"]), "attempt": data["attempt"]}
            try:
                if (await asyncio.to_thread(service.post, f"/v1/{where}", body)).status == 200:
                    return
            except (OSError, HTTPException):
                await asyncio.sleep(0.5)


class Users:
    """What tenants do meanwhile, what they were told, and what broke."""

    def __init__(self, fleet, chance, schedules, target):
        self.fleet, self.chance, self.target = fleet, chance, target
        self.names = [(list(KINDS)[n % len(KINDS)], f"s{n:04d}") for n in range(schedules)]
        self.count, self.broken = Counter(), []
        self.keys, self.revisions = set(), Counter()  # what was confirmed

    def body(self, tenant, name, edit=0):
        offset, every = int(name[1:]) % 5, 20 if tenant == "queue-all" else 5  # so that a queue can grow shorter
        said = {"schedule": f"{offset}-59/{every} * * * * *", "target": self.target, "description": f"edit {edit}"}
        return {**said, **KINDS[tenant]}

    async def load(self):
        for tenant in KINDS:
            lines = [{"id": name, **self.body(whose, name)} for whose, name in self.names if whose == tenant]
            text = "\n".join(map(json.dumps, lines)).encode()
            reply = await asyncio.to_thread(
                self.fleet.api(self.chance, tenant).post, "/v1/schedules:bulk", text, **NDJSON
            )
            assert all(line["status"] == 200 for line in reply.lines)

    async def run(self):
        while True:
            await asyncio.sleep(self.chance.random() * 0.1)
            tenant, name = self.chance.choice(self.names)
            try:
                await self._act(self.fleet.api(self.chance, tenant), tenant, name)
            except (OSError, HTTPException):
                self.count["calls to the dead"] += 1

    async def _act(self, api, tenant, name):
        deed = self.chance.choice(
            ["edit", "edit", "pause", "resume", "resume", "trigger", "trigger", "redrive", "read"]
        )
        where, edit = f"/v1/schedules/{name}", self.chance.randrange(1 << 30)
        if deed == "edit":
            reply = await asyncio.to_thread(api.put, where, self.body(tenant, name, edit))
            if reply.status == 200:
                self.revisions[f"{tenant}/{name}"] = max(self.revisions[f"{tenant}/{name}"], reply.json["revision"])
        elif deed == "trigger":
            reply = await asyncio.to_thread(api.post, f"{where}/trigger", Idempotency_Key=f"r{edit}")
            if reply.status == 202:
                self.keys.add(reply.json["key"])
        elif deed == "redrive":
            reply = await asyncio.to_thread(api.get, "/v1/dead-letters?limit=5")
            for letter in reply.json["runs"] if reply.status == 200 else []:
                driven = await asyncio.to_thread(api.post, f"/v1/runs/{letter['key']}/redrive")
                if driven.status == 202:
                    self.keys.add(driven.json["key"])
        elif deed == "read":
            reply = await asyncio.to_thread(api.get, f"{where}/runs?limit=5")
        else:
            reply = await asyncio.to_thread(api.post, f"{where}/{deed}", {"note": "campaign"})
        self.count[deed] += 1
        if reply.status >= 400 and reply.status != 503:
            self.broken.append((deed, reply.status, reply.body[:200]))
        self.count["503"] += reply.status == 503

    async def resume_all(self):
        for tenant, name in self.names:
            service = Service(self.fleet.ports["api0"], None, token(tenant))
            await asyncio.to_thread(service.post, f"/v1/schedules/{name}/resume", {})


async def kill_at_random(fleet, chance, mean):
    while True:
        await asyncio.sleep(chance.expovariate(1 / mean))
        name = chance.choice(PROCESSES)
        fleet.kill(name)
        await asyncio.sleep(chance.random() * mean)
        fleet.start(name)


async def ready(fleet):
    for name in fleet.ports:
        for _ in range(300):
            try:
                if (await asyncio.to_thread(Service(fleet.ports[name], None).get, "/healthz")).status == 200:
                    break
            except (OSError, HTTPException):
                await asyncio.sleep(0.1)


async def database_with_roles(server):
    """The name of a new database with the tables of Kron, and the roles of the interface and of workers."""
    for role in ("kron_api", "kron_worker"):
        if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", "postgres", role):
            server.sql(f"CREATE ROLE {role} LOGIN")
    database = server.empty()
    await migrate(server.url(database))
    return database


async def campaign(given, server, folder):
    """All of it: what was found, and the users."""
    database = await database_with_roles(server)
    log, port, fleet = folder / "received", free_port(), Fleet(server, database, folder, HASTE)
    log.touch()
    receiver = Receiver(log, random.Random(given.seed + 1), fleet)
    users = Users(fleet, random.Random(given.seed + 2), given.schedules, f"http://127.0.0.1:{port}/hook")
    listener = await asyncio.start_server(receiver.serve, "127.0.0.1", port, backlog=1000)
    try:
        for name in PROCESSES:
            fleet.start(name)
        await ready(fleet)
        await users.load()
        deaths = kill_at_random(fleet, random.Random(given.seed), given.every)
        beside = [asyncio.create_task(each) for each in (users.run(), users.run(), deaths)]
        await asyncio.sleep(given.minutes * 60)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        for name, process in fleet.living.items():
            if process.poll() is not None:
                fleet.start(name)
        await ready(fleet)
        await users.resume_all()
        await asyncio.sleep(given.calm)
        for process in fleet.living.values():
            process.terminate()
        for process in fleet.living.values():
            await asyncio.to_thread(process.wait)
        old = int(time.time() * 1000) - CLAIM
        async with open_store(server.url(database)) as store:
            found = await examine(store, server, database, log, {}, old, [], lambda words: None)
        doubt = _killed_before_sending(found.lost, fleet, server, database)
        found.doubt += doubt
        found.lost = [each for each in found.lost if each not in doubt]
        _confirmed(users, found, server, database)
    finally:
        fleet.close()
        listener.close()
    return found, users, fleet


def _killed_before_sending(lost, fleet, server, database):
    """The runs of which nobody can know whether they arrived.

    Such a run is recorded as unknown. A worker had claimed it, and was killed (by its process id) before that claim
    ended and before it recorded a result. The target never saw the request, and refused the next one.
    """
    doubt = []
    for each in lost:
        attempts = server.sql(LOST_ATTEMPTS, database, *each[:3]) if each[5:6] == ("unknown",) else []
        if any(_was_killed(fleet, *attempt) for attempt in attempts):
            doubt.append(each)
    return doubt


def _was_killed(fleet, at, duration, words):
    """Whether the worker that the attempt names was killed within it. An owner is host:process:token."""
    process = int(words.split()[1].split(":")[1])
    return any(process == pid and at <= killed <= at + duration for pid, killed in fleet.deaths)


def _confirmed(users, found, server, database):
    """All that the service has confirmed is there."""
    rows = server.sql("SELECT encode(idempotency_key, 'hex') FROM runs", database)
    found.lost += [("confirmed, and not recorded", key) for key in users.keys - {key for (key,) in rows}]
    newest = dict(server.sql(REVISIONS, database))
    found.lost += [("a confirmed edit", name, n) for name, n in users.revisions.items() if newest.get(name, 0) < n]
    found.unexplained += [("an answer", *each) for each in users.broken]


def report(found, users, fleet, seed):
    for what, count in sorted((users.count + found.outcomes).items()):
        print(f"{count:8d}  {what}")
    print(f"{len(found.dropped):8d}  unknown: the target had the request and dropped it, and then refused the run")
    print(
        f"{len(found.doubt):8d}  unknown: its worker was killed before it sent the run, and then the target refused it"
    )
    for kind in ("lost", "missed", "doubled", "unexplained"):
        for each in getattr(found, kind)[:10]:
            print(f"{kind}: {each}")
    print(
        f"{'PASS' if found.good else 'FAIL'}: {fleet.kills['api']} kills of the interface, {fleet.kills['worker']} of "
        f"workers; {found.periods} periods, {found.arrivals} keys received, {found.again} again; "
        f"{len(users.keys)} runs confirmed, {users.count['edit']} edits; "
        f"{len(found.lost)} lost, {len(found.missed)} missed, {len(found.doubled)} twice, "
        f"{len(found.unexplained)} unexplained; seed {seed}",
        flush=True,
    )


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--every", type=float, default=3, help="seconds between two kills, about")
    parser.add_argument("--calm", type=float, default=45, help="seconds without kills at the end")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given = parser.parse_args(args)
    folder = Path(tempfile.mkdtemp(prefix="kron-service-"))
    with running() as server:
        found, users, fleet = asyncio.run(campaign(given, server, folder))
    report(found, users, fleet, given.seed)
    if found.good:
        shutil.rmtree(folder)
    return 0 if found.good and sum(fleet.kills.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
