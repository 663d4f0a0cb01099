"""Shell blocks of pages that need PostgreSQL: each is run with the documented roles on a real server."""

import asyncio
import json
from itertools import pairwise

import pytest

from kron import parse
from kron.engine.clock import ManualClock
from kron.engine.registrar import Actor, Registrar
from kron.engine.worker import Worker
from kron.stores.sqlite import SqliteStore
from kron.timing.job import Job
from kron.timing.zone import instant_of
from tests.docs.page import DOCS, ROOT, blocks
from tests.docs.shell import run_shell
from tests.engine.world import Still
from tests.postgres import running

HOW_TO, README = DOCS / "how-to", ROOT / "README.md"
NAMES = ("monitor", "production-checklist", "troubleshoot-missed-runs", "upgrade")
PAGES = tuple(HOW_TO / f"{name}.md" for name in NAMES)
JOB = {"identity": "billing/invoices", "schedule": "0 3 * * *", "target": "python:pass"}
SERVED = "kron serve "  # the README also has a block with a service, which test_shell_service.py runs


@pytest.fixture(scope="module")
def server():
    """A durable server with the roles that the how-to page creates, and the databases `kron` and `app`."""
    with running({}) as server:
        (roles,) = [block.text for block in blocks(HOW_TO / "postgresql.md") if block.language == "sql"]
        for statement in roles.splitlines():
            server.sql(statement)
        for name in ("kron", "app"):
            server.sql(f"CREATE DATABASE {name} OWNER kron_owner")
        yield server


def run_on(server, page, folder, without=""):
    """Run the shell blocks of a page on the server, and return what they printed."""
    (folder / "schedules.ndjson").write_text(json.dumps(JOB) + "\n", encoding="utf-8")
    address = f"127.0.0.1:{server.port}"
    replaced = {"db1:5432,db2:5432/": f"{address},{address}/", "@db/": f"@{address}/", "/var/lib/kron": str(folder)}
    return run_shell(page, folder, replaced, without=without or "\0")


@pytest.fixture(scope="module")
def printed(server, tmp_path_factory):
    """What the blocks of the page on PostgreSQL print. They create the tables and load a schedule."""
    return run_on(server, HOW_TO / "postgresql.md", tmp_path_factory.mktemp("postgresql"))


def test_page_on_postgresql_creates_tables(printed):
    assert "ok       schema: all migrations have run" in printed[0]


@pytest.mark.usefixtures("printed")
@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_page_runs_on_postgresql(page, server, tmp_path):
    assert run_on(server, page, tmp_path, without=SERVED)


async def missed(path):
    """The ledger of a schedule whose worker came 10 seconds after the period."""
    clock = ManualClock(instant_of("2026-11-15T22:38:27Z"))
    store = SqliteStore(path, clock)
    job = Job("billing/invoices", parse("* * * * * @policy(deadline=5s)", dialect="kron"), target="test:it")
    await Registrar(store).upsert(job, Actor("kron load", "every minute"))
    clock.time = instant_of("2026-11-15T22:39:10Z")
    await Worker(store, {"test": None}, Still(), owner="w1").tick()
    await store.close()


def test_why_of_the_readme_prints_what_it_shows(tmp_path):
    asyncio.run(missed(tmp_path / "kron.db"))
    listed = blocks(README)
    (shown,) = [after.text for before, after in pairwise(listed) if "kron why " in before.text]
    command = "kron why billing/invoices --store sqlite:kron.db --at 2026-11-15T22:39:30Z\n"
    (tmp_path / "page.md").write_text(f"```sh\n{command}```\n", encoding="utf-8")
    assert run_shell(tmp_path / "page.md", tmp_path) == [shown.strip()]


def test_comparison_of_the_readme_is_that_of_its_page():
    """The README adds one row, `Choose it for`; the page says the same in a table of its own."""
    rows = {
        page: [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
        for page in (README, DOCS / "evaluate" / "comparison.md")
    }
    start = "| | Kron | APScheduler 3 |"
    readme, page = (
        [line for line in lines[[line.startswith(start) for line in lines].index(True) :] if line.count("|") == 7]
        for lines in rows.values()
    )
    assert len(page) >= 7
    assert [line for line in readme if not line.startswith("| Choose it for |")] == page
