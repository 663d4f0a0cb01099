"""Live pages in a real browser: changes of another process appear, and a page says when its server is gone."""

import asyncio
import signal
import sys
import time
from pathlib import Path

import pytest

from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from tests.dashboard.served import Site, in_thread
from tests.integrations.web import WebServer
from tests.postgres import free_port
from tests.service.http import SECRET
from tests.stores.making import a_job

KRON = str(Path(sys.executable).parent / "kron")
pytestmark = pytest.mark.slow


def started(folder, url, port, *options):
    command = [KRON, "ui", "--store", url, "--listen", f"127.0.0.1:{port}", *options]
    return WebServer(command, port, folder, log=f"{port}.log").wait("/")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        url = f"sqlite:{tmp_path / 'jobs.db'}"
    else:
        server = request.getfixturevalue("server")
        url = server.url(in_thread(server.database))
    in_thread(asyncio.run, define(url))
    return url


async def define(url):
    async with open_store(url) as store:
        await Registrar(store).upsert(a_job("report", "0 9 * * *"))


def working(folder, url, port):
    """Start a worker."""
    command = [KRON, "worker", "--store", url, "--listen", f"127.0.0.1:{port}"]
    return WebServer(command, port, folder, log=f"{port}.log", KRON_WEBHOOK_SECRET=SECRET).wait("/healthz")


def waits(page, text, seconds):
    """Return how long it took until the main part of the page had a text."""
    began = time.monotonic()
    page.get_by_text(text, exact=False).first.wait_for(timeout=seconds * 1000)
    return time.monotonic() - began


def test_page_shows_what_another_process_does_and_says_when_its_server_is_gone(url, tmp_path, browser):
    ports = free_port(), free_port()
    one, other = started(tmp_path, url, ports[0], "--operator"), started(tmp_path, url, ports[1])
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{ports[1]}/schedules/report")
        live = page.locator("#live")
        live.get_by_text("Live", exact=True).wait_for(timeout=5_000)
        time.sleep(2.5)  # the other process knows by now that a page is open
        assert Site(ports[0]).send("/schedules/report/pause", {"note": "ledger"}).status == 303
        assert waits(page, "Paused", 5) < 1.5  # a second for the message, and the page itself
        other.process.send_signal(signal.SIGKILL)
        other.process.wait()
        live.get_by_text("Not live").wait_for(timeout=5_000)
        other = started(tmp_path, url, ports[1])
        live.get_by_text("Live", exact=True).wait_for(timeout=15_000)
    finally:
        context.close()
        one.close()
        other.close()


def test_activity_holds_new_lines_until_the_reader_asks_for_them(tmp_path, browser):
    url, port = f"sqlite:{tmp_path / 'jobs.db'}", free_port()
    in_thread(asyncio.run, define(url))
    site = started(tmp_path, url, port, "--operator")
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/activity")
        page.locator("#live").get_by_text("Live", exact=True).wait_for(timeout=15_000)
        assert page.locator("main [data-row]").count() == 1
        for count, action in enumerate(["pause", "resume"], 1):
            assert Site(port).send(f"/schedules/report/{action}", {"note": "ledger"}).status == 303
            page.locator("#held").get_by_text(f"{count} new.").wait_for(timeout=15_000)
            assert page.locator("main [data-row]").count() == 1
        page.get_by_role("button", name="Show them").click()
        assert page.locator("main [data-row]").count() == 3
        assert page.locator("#held").count() == 0
    finally:
        context.close()
        site.close()


def test_page_says_that_a_worker_was_killed(tmp_path, server, browser):
    """A worker renews its lease every 5 seconds. The page says that it is overdue after half of the lease, 7.5 s."""
    url = server.url(in_thread(server.database))
    in_thread(asyncio.run, define(url))
    ports = free_port(), free_port(), free_port()
    context, site, worker = browser.new_context(), started(tmp_path, url, ports[0]), working(tmp_path, url, ports[1])
    other = None
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{ports[0]}/")
        page.locator("#live").get_by_text("Live", exact=True).wait_for(timeout=10_000)
        fleet = page.locator("[data-fresh]")
        fleet.get_by_text(f":{worker.process.pid}:").wait_for(timeout=10_000)
        assert fleet.get_by_text("overdue").count() == 0
        worker.process.send_signal(signal.SIGKILL)
        worker.process.wait()
        assert waits(fleet, "overdue", 20) < 7.5 + 5
        other = working(tmp_path, url, ports[2])
        fleet.get_by_text(f":{other.process.pid}:").wait_for(timeout=10_000)
        fleet.get_by_text(f":{worker.process.pid}:").wait_for(state="detached", timeout=20_000)
        assert fleet.get_by_text("overdue").count() == 0
    finally:
        context.close()
        for process in (site, worker, other):
            if process is not None:
                process.close()
