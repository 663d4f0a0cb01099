"""100,000 schedules loaded by `kron load`; then, among very many, one after the other is edited: `make bench-edit`.

`KRON_EDIT_COUNT` schedules (a million unless it says otherwise; the rest are copies, made by statements), on a
PostgreSQL that syncs every commit. An edit is all of it: read, planned, written, and durable.
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
from dataclasses import replace
from pathlib import Path

from tests.postgres import Server, running

from kron.engine.registrar import Registrar
from kron.stores.postgres import PostgresStore

LOADED = int(os.environ.get("KRON_EDIT_LOADED", "100000"))
COUNT = int(os.environ.get("KRON_EDIT_COUNT", "1000000"))
EDITS = int(os.environ.get("KRON_EDIT_EDITS", "3000"))
WARM = 300  # edits that are not counted: plans, caches
SIZE = "pg_database_size(current_database())"
LOAD_WITHIN, EDIT_WITHIN = 60.0, 0.005  # seconds
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
MORE = Path(__file__).with_name("more.sql").read_text("utf-8")


def line(n: int) -> str:
    """A schedule of a file: a time of its own, every other one in a zone, every third one in a window."""
    found = {
        "identity": f"team{n % 97:02d}/job{n:07d}",
        "schedule": f"{n % 60} {n // 60 % 24} * * *",
        "timezone": "Europe/Paris" if n % 2 else "UTC",
        "target": "https://example.com/hook",
        "description": f"job {n}",
    }
    return json.dumps(found | ({"window_mode": "after", "window_duration": "10m"} if n % 3 == 0 else {}))


def load(url: str, folder: Path) -> float:
    """Seconds of `kron load`, from its start to its end."""
    path = folder / "schedules.ndjson"
    path.write_text("".join(line(n) + "\n" for n in range(LOADED)), encoding="utf-8")
    began = time.perf_counter()
    subprocess.run([Path(sys.executable).with_name("kron"), "load", path, "--store", url], check=True)
    return time.perf_counter() - began


def multiply(server: Server, database: str) -> None:
    """Copy what was loaded until there are as many as wanted."""
    for copy in range(1, COUNT // LOADED):
        for statement in MORE.replace("%(copy)s", f"'#{copy}'").replace("%%", "%").split(";\n"):
            if statement.strip():
                server.sql(statement, database)
        if copy % 10 == 0:
            print(f"{(copy + 1) * LOADED:,} schedules", file=sys.stderr)
    server.sql("VACUUM ANALYZE", database)
    server.sql("CHECKPOINT")


async def edits(url: str) -> list[float]:
    """Seconds of each edit: a description, and every other time the minute of its schedule."""
    store, chance, took = PostgresStore(url), random.Random(7), list[float]()
    registrar = Registrar(store)
    for n in range(WARM + EDITS):
        number, copy = chance.randrange(LOADED), chance.randrange(max(1, COUNT // LOADED))
        name = f"team{number % 97:02d}/job{number:07d}" + (f"#{copy}" if copy else "")
        case = await registrar.get(name)
        began = time.perf_counter()
        await registrar.upsert(replace(case.job, description=f"edit {n}"))
        took.append(time.perf_counter() - began)
    await store.close()
    return sorted(took[WARM:])


def main() -> int:
    """Measure, print, judge."""
    with running(SETTINGS, folder=os.environ.get("KRON_BENCH_FOLDER", "/tmp")) as server:
        database = server.database()
        with tempfile.TemporaryDirectory() as folder:
            loading = load(server.url(database), Path(folder))
        print(f"{LOADED:,} schedules loaded in {loading:.1f} s", file=sys.stderr)
        multiply(server, database)
        took = asyncio.run(edits(server.url(database)))
        ((count, size),) = server.sql(
            "SELECT count(*), pg_database_size(current_database()) FROM schedule_state", database
        )
    p50, p99, last = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.99, 0.999))
    print(f"{count:,} schedules, {size / 1e9:.1f} GB, fsync on; {EDITS:,} edits one after the other")
    fast, quick = loading < LOAD_WITHIN, p99 < EDIT_WITHIN * 1000
    print(f"{'reached' if fast else 'NOT reached':12}{LOADED:,} loaded in {loading:.1f} s, wanted < {LOAD_WITHIN:g} s")
    print(
        f"{'reached' if quick else 'NOT reached':12}an edit p50 {p50:.1f} ms, p99 {p99:.1f}, p99.9 {last:.1f}; wanted 5"
    )
    print("PASS" if fast and quick else "FALLS SHORT")
    return 0 if fast and quick else 1


if __name__ == "__main__":
    sys.exit(main())
