"""A million schedules in the service: defined in bulk, then edited and read at 200 requests a second, then selected
by labels.

`make bench-million`; `KRON_MILLION=20000` for fewer. A real PostgreSQL that syncs every commit, two processes of the
service with the rights of its role and without workers, tenants and tokens. An answer counts from the instant at which
its request was to be sent, so that a queue counts too.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.campaigns.service_kills import database_with_roles
from tests.postgres import Server, free_port, running
from tests.service.http import SECRET, Service, until
from tests.service.test_config import ready
from tests.service.tokens import settings, token

COUNT = int(os.environ.get("KRON_MILLION", "1000000"))
TENANTS, PART = 10, 5_000
RATE, SECONDS, CONNECTIONS = 200, 30, 32
WANTED = 0.050  # seconds, of 99 answers in 100
LABEL_REQUESTS, LABEL_WANTED = 250, 0.020  # requests of each kind, one after the other; seconds, of 99 answers in 100
CUSTOMER_SIZE = 1_000  # schedules with the same label `customer`
PLANS = ("free", "team", "company")
DISK = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Tokyo")


def definition(n: int, edit: int = 0) -> dict[str, Any]:
    """The nth schedule."""
    at = f"{n % 60} {n // 60 % 24} * * *"
    zone, words = ZONES[n % len(ZONES)], f"edit {edit}"
    labels = {"customer": f"c{n // CUSTOMER_SIZE}", "plan": PLANS[n // TENANTS % len(PLANS)]}
    target = "http://127.0.0.1:9/hook"
    return {"schedule": at, "timezone": zone, "target": target, "description": words, "labels": labels}


def start(server: Server, database: str, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A process of the service, and its port."""
    port = free_port()
    said = settings(folder, store=server.url(database, "kron_api"), listen=f"127.0.0.1:{port}")
    said |= {"webhook_secret": SECRET, "webhook_allow_plain_http": "true", "max_schedules_per_tenant": "10000000"}
    said |= {"log_events": "false", "run_worker": "false"}
    env = {**os.environ, **{f"KRON_{name.upper()}": str(value) for name, value in said.items()}}
    process = subprocess.Popen([str(Path(sys.executable).parent / "kron"), "serve"], env=env)
    until(lambda: ready(Service(port, None)), 60)
    return process, port


def fill(port: int, first: int, step: int, done: list[int]) -> None:
    """Define every `step`th part from the first on."""
    for part in range(first * PART, COUNT, step * PART):
        numbers = range(part, min(part + PART, COUNT))
        for tenant in range(TENANTS):
            lines = [json.dumps({"id": f"s{n}", **definition(n)}) for n in numbers if n % TENANTS == tenant]
            connection = HTTPConnection("127.0.0.1", port, timeout=300)
            headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {token(f't{tenant}')}"}
            connection.request("POST", "/v1/schedules:bulk", "\n".join(lines), headers)
            answers = connection.getresponse().read().splitlines()
            assert len(answers) == len(lines) and all(json.loads(line)["status"] == 200 for line in answers)
            connection.close()
        done[0] += len(numbers)


async def filled(ports: list[int]) -> float:
    """Define all of them; how many a second."""
    began, done = time.monotonic(), [0]
    work = [asyncio.create_task(asyncio.to_thread(fill, port, n, len(ports), done)) for n, port in enumerate(ports)]
    while not all(task.done() for task in work):
        await asyncio.wait(work, timeout=20)
        print(f"{done[0]:>9,} defined, {done[0] / (time.monotonic() - began):,.0f}/s", flush=True)
    for task in work:
        task.result()
    return COUNT / (time.monotonic() - began)


class Line:
    """A connection that is kept, and used by one at a time."""

    def __init__(self, port: int) -> None:
        self.port, self.lock = port, asyncio.Lock()

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def call(self, method: str, path: str, bearer: str, body: bytes = b"") -> int:
        """The status of the answer, when all of it is there."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {bearer}\r\nContent-Length: {len(body)}"
        self.writer.write(f"{head}\r\nContent-Type: application/json\r\n\r\n".encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = answer.partition(b"content-length:")[2].split()
        await self.reader.readexactly(int(length[0]) if length else 0)
        return int(answer.split()[1])


async def asked(ports: list[int]) -> dict[str, list[float]]:
    """Ask 200 times a second, whatever the answers take; how long each took, by what was asked."""
    chance, took = random.Random(1), dict[str, list[float]]()
    bearers = [token(f"t{n}") for n in range(TENANTS)]
    lines = [Line(ports[n % len(ports)]) for n in range(CONNECTIONS)]
    for line in lines:
        await line.open()
    free: asyncio.Queue[Line] = asyncio.Queue()
    for line in lines:
        free.put_nowait(line)

    async def one(at: float, warm: bool) -> None:
        n = chance.randrange(COUNT)
        kind = chance.choices(("read", "edit", "next", "page"), (50, 30, 10, 10))[0]
        where = f"/v1/schedules/s{n}"
        method, path, body = {
            "read": ("GET", where, b""),
            "edit": ("PUT", where, json.dumps(definition(n, chance.randrange(1 << 30))).encode()),
            "next": ("GET", f"{where}/next", b""),
            "page": ("GET", f"/v1/schedules?limit=20&page_token=s{n}", b""),
        }[kind]
        line = await free.get()
        status = await line.call(method, path, bearers[n % TENANTS], body)
        free.put_nowait(line)
        assert status == 200, (kind, status)
        if not warm:
            took.setdefault(kind, []).append(time.monotonic() - at)

    began, calls = time.monotonic() + 0.5, list[asyncio.Task[None]]()
    for nth in range(RATE * (SECONDS + 3)):
        at = began + nth / RATE
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        calls.append(asyncio.create_task(one(at, nth < 3 * RATE)))
    await asyncio.gather(*calls)
    for line in lines:
        line.writer.close()
    return took


async def selected(port: int) -> dict[str, list[float]]:
    """Select by labels, one request after the other; how long each took, by what was selected."""
    chance, took, line = random.Random(2), dict[str, list[float]](), Line(port)
    bearers = [token(f"t{n}") for n in range(TENANTS)]
    await line.open()
    for _ in range(LABEL_REQUESTS):
        customer = f"label=customer%3Dc{chance.randrange(COUNT) // CUSTOMER_SIZE}"
        plan = f"label=plan%3D{chance.choice(PLANS)}"
        queries = {
            "one customer": customer,
            "one plan": plan,
            "both": f"{customer}&{plan}",
            "none": "label=customer%3Dnobody",
            "later page": f"{plan}&page_token=s{chance.randrange(COUNT)}",
        }
        for kind, query in queries.items():
            began = time.monotonic()
            status = await line.call("GET", f"/v1/schedules?limit=20&{query}", chance.choice(bearers))
            assert status == 200, (kind, status)
            took.setdefault(kind, []).append(time.monotonic() - began)
    line.writer.close()
    return took


def print_times(took: dict[str, list[float]]) -> None:
    """Print p50, p95 and p99 of each kind."""
    for kind, values in took.items():
        spread = [f"p{share * 100:g} {quantile(values, share) * 1000:6.1f} ms" for share in (0.5, 0.95, 0.99)]
        print(f"{kind:<12} {len(values):>5}  {', '.join(spread)}, max {max(values) * 1000:.0f} ms")


def quantile(values: list[float], share: float) -> float:
    """The value that so many are no larger than."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main() -> int:
    """Fill, ask, and judge."""
    folder = Path(tempfile.mkdtemp(prefix="kron-million-"))
    with running(DISK, folder="/var/tmp") as server:
        database = asyncio.run(database_with_roles(server))
        started = [start(server, database, folder) for _ in range(2)]
        ports = [port for _, port in started]
        try:
            rate = asyncio.run(filled(ports))
            server.sql("VACUUM ANALYZE", database)
            took = asyncio.run(asked(ports))
            by_labels = asyncio.run(selected(ports[0]))
        finally:
            for process, _ in started:
                process.terminate()
                process.wait(30)
    every = [value for values in took.values() for value in values]
    print_times(took)
    print_times(by_labels)
    worst = quantile(every, 0.99)
    slowest = max(quantile(values, 0.99) for values in by_labels.values())
    verdict = "PASS" if worst < WANTED and slowest < LABEL_WANTED else "FAIL"
    print(
        f"{verdict}: {COUNT:,} schedules, defined at {rate:,.0f}/s; {RATE} requests/s for {SECONDS} s: "
        f"p50 {quantile(every, 0.5) * 1000:.1f} ms, p99 {worst * 1000:.1f} ms (wanted: below {WANTED * 1000:g}); "
        f"by labels: p99 {slowest * 1000:.1f} ms (wanted: below {LABEL_WANTED * 1000:g})"
    )
    return verdict == "FAIL"


if __name__ == "__main__":
    sys.exit(main())
