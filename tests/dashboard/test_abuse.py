"""Abuse: texts and schedules that take long, headers of proxies, and what a tenant may not know."""

import asyncio
import threading
import time

import pytest

from kron.apps.dashboard.access import LoopbackAccess, Role
from kron.apps.dashboard.actions import bulk
from kron.apps.dashboard.fleet_panel import fleet_panel
from kron.apps.dashboard.pages.overview import BACKLOG_TEXT, CUT_TEXT
from kron.engine.clock import ManualClock
from kron.engine.overview import WorkerRecord
from kron.engine.registrar import Registrar
from kron.language import parse
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from tests.dashboard.parsed import parsed
from tests.dashboard.seeded import NOW
from tests.dashboard.served import Site, dashboard_of, served

SLOW = "* * * * * @win(after,300h) @avoid(hours=0-22)"  # takes seconds to find the next run
MAX_WAIT = 2.0  # seconds that another request may wait; the machine can be busy


def a_store(texts, workers=()):
    store = MemoryStore(ManualClock(NOW))
    jobs = [Job(name, parse(text, dialect="kron"), target="https://a.example/") for name, text in texts.items()]

    async def fill():
        for job in jobs:
            await Registrar(store).upsert(job)
        for owner in workers:
            await store.lease(owner, frozenset({"https"}), 15_000, "")

    asyncio.run(fill())
    return store


@pytest.mark.parametrize("path", ["/", "/schedules", "/schedules?state=late", "/schedules/slow/pause"])
def test_schedule_that_takes_long_does_not_hold_up_other_requests(path):
    store = a_store({"slow": SLOW, "slow2": SLOW}, workers=["w"])
    with served(dashboard_of(store)) as site:
        other = Site(site.port)
        assert other.get("/account").status == 200
        thread = threading.Thread(target=lambda: site.get(path), daemon=True)
        thread.start()
        waits = []
        while thread.is_alive() and len(waits) < 40:
            began = time.monotonic()
            other.get("/account")
            waits.append(time.monotonic() - began)
        thread.join(30)
    assert max(waits) < MAX_WAIT


def test_overview_does_not_say_that_all_is_well_if_it_could_not_look():
    store = a_store({f"slow{n}": SLOW for n in range(4)}, workers=["w"])
    with served(dashboard_of(store)) as site:
        assert parsed(site.get("/")).one("h1").text == CUT_TEXT
    store = a_store({f"job{n:03}": "0 12 * * *" for n in range(120)}, workers=["w"])
    store.clock.advance(60)
    asyncio.run(store.lease("w", frozenset({"https"}), 15_000, ""))
    with served(dashboard_of(store)) as site:
        main = parsed(site.get("/"))
        assert main.one("h1").text == BACKLOG_TEXT, "no worker has read any of them"
        assert "nothing waits" not in main.text
        late = parsed(site.get("/schedules?state=late"))
        assert late.one("h1").text == "No schedule is late", "all 120 were read"


def test_long_text_is_not_compared_with_names():
    store = a_store({"ab" * 40 + f"{n}": "0 9 * * *" for n in range(20)})
    with served(dashboard_of(store)) as site:
        began = time.monotonic()
        assert site.get("/schedules?q=" + "aabb" * 48).status == 200
        assert time.monotonic() - began < MAX_WAIT


@pytest.mark.parametrize("name", ["Forwarded", "X-Forwarded-For", "X-Real-IP", "x-forwarded-host", "Via"])
def test_request_that_a_proxy_passes_on_is_not_of_this_machine(seeded_site, name):
    assert seeded_site.get("/").status == 200
    assert seeded_site.call("GET", "/", headers={name: "203.0.113.9"}).status == 401
    assert LoopbackAccess(Role.OPERATOR).viewer_of(["localhost"], "127.0.0.1", ["Accept"]) is not None


def test_nul_in_a_form_or_a_name_is_refused():
    store = a_store({"a": "0 9 * * *"})
    with served(dashboard_of(store)) as site:
        assert site.get("/schedules/a%2500b").status == 404
        assert site.send("/schedules/a/pause", {"note": "a\0b"}).status == 422
        assert site.send("/schedules/a/pause", {"note": "x" * 1_001}).status == 422
        (state,) = asyncio.run(store.get(["a"]))
        assert not state.paused


def test_bulk_action_goes_on_by_itself_only_if_the_browser_says_that_it_comes_from_this_site(monkeypatch):
    monkeypatch.setattr(bulk, "BATCH_SIZE", 2)
    store = a_store({f"a{n}": "0 9 * * *" for n in range(3)})
    with served(dashboard_of(store)) as site:
        reply = site.send("/bulk/pause", {"select": "all", "request": "ui-" + "0" * 24})
        address = reply.headers["location"]
        for origin in ("same-origin", "same-site", "cross-site", "none", ""):
            text = site.get(address, **{"Sec-Fetch-Site": origin}).text
            assert "2 schedules paused so far" in text
            assert ('hx-trigger="load' in text) == (origin == "same-origin")


def test_tenant_does_not_learn_the_names_of_workers():
    records = [WorkerRecord("db-host-7:4711:ab", 0, 1_000, 16_000, frozenset({"https"}), "2026b")]
    named, unnamed = (fleet_panel(records, 9_900, is_named=is_named) for is_named in (True, False))
    assert "db-host-7" in repr((named.workers, named.shards))
    assert "db-host-7" not in repr((unnamed.workers, unnamed.shards))
