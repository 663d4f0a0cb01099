"""The dashboard at one million schedules and 30 days of ledger, on a real PostgreSQL, under row-level security.

`make bench-ui`; `KRON_UI_SCHEDULES=10000` for fewer. It opens every page that the application has, over the wire, and
falls short if a page exceeds its limits: server time p99 100 ms, 60 KB of HTML, 8 questions to the store, no scan of a
table that grows. Then it measures the lateness of 800 runs per second without and with viewers, in turns.

Some hosts take CPU from a virtual machine that has used much of it. There, `KRON_UI_REST=300` lets the machine rest for
so many seconds after the seeding and before the turns.
"""

from __future__ import annotations

import os
import sys
import time

from tests.postgres import Server, running

from benchmarks.ui.addresses import SCOPES, templates
from benchmarks.ui.interference import RATE, measured_turns, print_turns
from benchmarks.ui.pages import measured_pages, print_pages
from benchmarks.ui.plans import SETTINGS, PlanLog
from benchmarks.ui.schedules import LARGEST, MIDDLE
from benchmarks.ui.seed import Seed
from benchmarks.ui.shape import differing_forms
from benchmarks.ui.site import Site, served
from benchmarks.ui.size import Size, size_from_environment

DISK = {"shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
VIEWERS = 20
ROUNDS = int(os.environ.get("KRON_ROUNDS", "15"))
TURN_SECONDS = float(os.environ.get("KRON_UI_SECONDS", "20"))
REST_SECONDS = float(os.environ.get("KRON_UI_REST", "0"))  # before the pages, and before the turns


def seeded(server: Server, size: Size) -> tuple[str, int]:
    """Seed a database, and print what it has. Returns its name, and how many kinds of rows differ from the engine's."""
    began, database = time.monotonic(), server.database()
    server.index_names(database)
    server.sql("CREATE ROLE kron LOGIN")
    server.sql("GRANT USAGE ON SCHEMA kron TO kron; GRANT ALL ON ALL TABLES IN SCHEMA kron TO kron", database)
    counts = Seed(server, database, size).fill()
    print(f"seeded in {time.monotonic() - began:.0f} s: " + ", ".join(f"{n:,} {name}" for name, n in counts.items()))
    compared, differing = differing_forms(server, database, size.schedules)
    print(f"{compared - len(differing)} of {compared} classes of rows have the form that the engine writes")
    for difference in differing:
        print(f"    FALLS SHORT: {difference}")
    return database, len(differing)


def watched_addresses(server: Server, database: str) -> list[str]:
    """Return the addresses that viewers have open: mostly overviews, and lists and schedules."""
    pages = {"/": 8, "/schedules": 4, "/runs": 3, "/schedules/{name}": 3, "/activity": 2}
    addresses = list[str]()
    for scope in ("", LARGEST, MIDDLE):
        known = {each.page: each for each in templates(server, database, (scope,)) if "?" not in each.text}
        addresses += [known[page].address(number) for page, times in pages.items() for number in range(times)]
    return (addresses * VIEWERS)[: 3 * VIEWERS : 3]


def delayed(server: Server, database: str, url: str, site: Site) -> bool:
    """Measure the lateness of runs without and with viewers. Returns whether viewers delay runs too much."""
    server.sql("DELETE FROM workers", database)
    addresses = watched_addresses(server, database)
    time.sleep(REST_SECONDS)
    print(f"{RATE} runs/s in turns of {TURN_SECONDS:g} s, {ROUNDS} of each kind", flush=True)
    return print_turns(measured_turns(url, site, addresses, ROUNDS, TURN_SECONDS), len(addresses))


def main() -> int:
    """Seed, measure, print, judge."""
    size = size_from_environment()
    with running(DISK | SETTINGS, folder=os.environ.get("KRON_BENCH_FOLDER", "/var/tmp")) as server:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, fsync on")
        database, differing = seeded(server, size)
        url = server.url(database, "kron")
        with served(url) as site:
            pages = list(templates(server, database, SCOPES))
            time.sleep(REST_SECONDS)
            failed = print_pages(measured_pages(site, PlanLog(server), pages, size.requests))
            is_delayed = ROUNDS > 0 and delayed(server, database, url, site)
    is_short = bool(differing or failed or is_delayed)
    verdict = "FALLS SHORT" if is_short else "PASS"
    print(f"{verdict}: {failed} pages exceed their limits; load {os.getloadavg()[0]:.1f} after")
    return 1 if is_short else 0


if __name__ == "__main__":
    sys.exit(main())
