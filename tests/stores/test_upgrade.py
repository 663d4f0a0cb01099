"""Workers of before and after a migration work side by side, while it runs: nothing is lost, nothing waits for long."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kron import KronError
from kron.apps.wiring import open_store
from kron.stores.postgres.migrate import Migration, check, migrate, migrations
from tests.campaigns.chaos.findings import examine
from tests.postgres import connect
from tests.stores.making import ALL, NOW
from tests.stores.test_chaos import define, receiver, spawn

NEXT = Migration(
    migrations()[-1].number + 1,
    "next",
    "ALTER TABLE schedule_state ADD COLUMN novel text; CREATE INDEX due_novel ON schedule_state (novel)",
)
AFTER = (*migrations(), NEXT)  # what a coming version has


@pytest.fixture
def older(server):
    """The name of a database that a coming version has not migrated yet."""
    name = server.database()
    yield name
    server.drop(name)


class TestRule:
    def test_a_worker_serves_the_tables_that_it_knows_and_those_of_the_next_migration(self, database):
        later = Migration(NEXT.number + 1, "later", "CREATE TABLE later (x int)")
        asyncio.run(check(database))
        asyncio.run(migrate(database, scripts=AFTER))
        asyncio.run(check(database, scripts=AFTER))
        asyncio.run(check(database))
        asyncio.run(migrate(database, scripts=(*AFTER, later)))
        with pytest.raises(KronError) as caught:
            asyncio.run(check(database))
        assert caught.value.code == "STORE_TOO_NEW"

    def test_the_tables_come_first(self, server, older):
        with pytest.raises(KronError) as caught:
            asyncio.run(check(server.url(older), scripts=AFTER))
        assert caught.value.code == "STORE_TOO_OLD"
        assert "kron migrate" in caught.value.hint

    @pytest.mark.slow
    def test_a_worker_says_so_when_it_is_started(self, server):
        words = [Path(sys.executable).with_name("kron"), "worker", "--store", server.url(server.empty())]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        assert ended.returncode == 1
        assert "error[STORE_TOO_OLD]" in ended.stderr


def test_ticks_go_on_while_a_migration_waits_for_a_lock(database):
    """Somebody reads for long; the migration gives up and tries again, and ticks slip in between."""

    async def script(reader):
        async with open_store(database) as store:
            upgrade = asyncio.ensure_future(migrate(database, scripts=AFTER))
            longest = 0.0
            for _ in range(15):
                began = time.monotonic()
                await store.fetch_due(ALL, NOW, 1)
                longest = max(longest, time.monotonic() - began)
                await asyncio.sleep(0.05)
            waiting = not upgrade.done()
            reader.rollback()
            return waiting, longest, await upgrade

    with connect(database) as reader:
        reader.execute("SELECT count(*) FROM schedule_state")
        waiting, longest, ran = asyncio.run(script(reader))
    assert waiting
    assert longest < 1.5
    assert ran == [NEXT]


def owners(server, name, since):
    """Of which version are those whose runs were recorded since then (milliseconds)."""
    rows = server.sql("SELECT DISTINCT owner FROM runs WHERE created_at > %s AND owner <> ''", name, since)
    return {owner[:3] for (owner,) in rows}


def until(holds, seconds=40):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.2)


@pytest.mark.slow
def test_workers_of_both_versions_work_through_an_upgrade(server, older, tmp_path):
    """Through a migration that may come; the new workers are those of today, too, which serve the next tables."""
    url, log = server.url(older), tmp_path / "received"
    log.touch()
    asyncio.run(define(url))
    with receiver(url, log) as port:
        lives = [life(url, port, f"old{n}", tmp_path) for n in range(2)]
        until(lambda: owners(server, older, 0) == {"old"})
        asyncio.run(migrate(url, scripts=AFTER))
        upgraded = int(time.time() * 1000)
        lives += [life(url, port, f"new{n}", tmp_path) for n in range(2)]
        until(lambda: owners(server, older, upgraded) == {"old", "new"})
        for old in lives[:2]:
            old.send_signal(signal.SIGTERM)
        time.sleep(1)
        for new in lives[2:]:
            new.send_signal(signal.SIGTERM)
        assert [each.wait(30) for each in lives] == [0] * 4
    found = asyncio.run(told(server, older, log))
    assert found.good, (found.lost, found.doubled, found.unexplained)
    assert found.arrivals
    assert "pass_failed" not in _events(tmp_path / "log")


def life(url, port, name, folder):
    return spawn("-m", "tests.campaigns.chaos.life", url, port, name, folder / "log", 1_800)


async def told(server, name, log):
    async with open_store(server.url(name)) as store:
        return await examine(store, server, name, log, {}, int(time.time() * 1000) - 25_000, [], print)


def _events(path):
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return {json.loads(line)["event"] for line in text.splitlines()}
