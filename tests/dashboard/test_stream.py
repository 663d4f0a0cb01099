"""The stream of a page: an action in one process is told to the pages of another, within a second."""

import asyncio
import http.client
import json
import re
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from kron.apps.dashboard.page_turns import (
    MAX_INTERVAL_SECONDS,
    PageTurns,
    longest_rest,
    message_delay,
    message_interval,
)
from kron.apps.dashboard.pages.overview import fresh_seconds
from kron.apps.dashboard.pages.stream import MAX_STREAMS
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from tests.dashboard.served import served, watched
from tests.stores.making import a_job


class Ear:
    """A page that listens: what it was told, and when."""

    def __init__(self, site, query="", cookie=""):
        self.connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
        self.connection.request("GET", f"/stream{query}", headers={"Cookie": cookie} if cookie else {})
        self.answer, self.text = self.connection.getresponse(), ""
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            while chunk := self.answer.read1(4096):
                self.text += chunk.decode()
        except (OSError, ValueError, http.client.HTTPException):
            pass

    def close(self):
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.answer.close()
        self.connection.close()

    def heard(self, word, seconds):
        end = time.monotonic() + seconds
        while word not in self.text and time.monotonic() < end:
            time.sleep(0.01)
        return word in self.text


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    url = f"sqlite:{tmp_path / 'jobs.db'}" if request.param == "sqlite" else request.getfixturevalue("database")

    async def define():
        async with open_store(url) as store:
            await Registrar(store).upsert(a_job("a", "0 9 * * *"))
            await Registrar(store).upsert(a_job("b", "0 9 * * *"))

    asyncio.run(define())
    return url


def test_action_in_one_process_is_told_to_the_pages_of_another_within_a_second(url):
    with served(watched(url)) as one, served(watched(url)) as other:
        of_all, of_a, of_b = Ear(other), Ear(other, "?schedule=a"), Ear(other, "?schedule=b")
        assert all(ear.heard("event: live", 5) for ear in (of_all, of_a, of_b))
        time.sleep(2.5)  # the other process knows by now that somebody listens
        assert one.send("/schedules/a/pause").status == 303
        began = time.monotonic()
        assert of_all.heard("event: changed", 1)
        assert of_a.heard("event: changed", 1)
        assert time.monotonic() - began < 1
        assert not of_b.heard("event: changed", 0.3)
        for ear in (of_all, of_a, of_b):
            ear.close()


def test_stream_tells_what_has_changed_since_the_page_was_read(url):
    with served(watched(url)) as site:
        first = Ear(site)
        assert first.heard("event: live", 5)
        position = re.search(r'data-position="(\d+)"', site.get("/schedules/a").text)[1]
        assert site.send("/schedules/a/pause").status == 303
        assert first.heard("event: changed", 5)
        late, unknown = Ear(site, f"?schedule=a&after={position}"), Ear(site, "?schedule=a&after=")
        assert late.heard("event: changed", 5)
        assert unknown.heard("event: live", 5)
        assert not unknown.heard("event: changed", 1)
        for ear in (first, late, unknown):
            ear.close()


def test_pages_together_are_told_at_most_twice_a_second_and_many_of_them_once():
    assert message_interval(1) == 0.5
    assert message_interval(20) == 19
    for pages in range(1, MAX_STREAMS + 1):
        rate = pages / message_interval(pages)
        assert rate <= 2 or message_interval(pages) == MAX_INTERVAL_SECONDS


@pytest.mark.parametrize("pages", [1, 2, 3, 7, 20, 60])
def test_pages_that_were_told_at_the_same_moment_load_themselves_one_after_another(pages):
    """Each rests as long as its interval says, and the first time at most twice as long."""
    turns, interval, now = PageTurns(), message_interval(pages), 1_795_123_010.2
    told, moments = [now] * pages, []
    for number in range(5 * pages):
        page = number % pages
        rest = turns.rest(pages, told[page])
        assert interval <= rest <= 2 * interval, number
        told[page] += rest
        moments.append(told[page])
    assert moments == sorted(moments)
    assert min(b - a for a, b in zip(moments, moments[2:], strict=False)) >= 0.5 * interval / pages


@pytest.mark.parametrize(("pages", "seconds"), [(1, 3), (2, 3), (20, 38)])
def test_overview_does_not_load_itself_before_its_turn(pages, seconds):
    view = SimpleNamespace(context=SimpleNamespace(mirror=SimpleNamespace(listener_count=pages)))
    assert fresh_seconds(view) == seconds >= longest_rest(pages)


def test_many_pages_are_told_in_the_second_half_of_a_second_when_few_runs_are_due():
    for tenths in range(10):
        now = 1_795_123_010 + tenths / 10 + 0.05
        assert [message_delay(pages, now) for pages in (1, 2)] == [0, 0]
        assert 0 <= message_delay(3, now) <= 0.5
        assert 0.499 < (now + message_delay(3, now)) % 1 < 1


def test_turns_go_on_when_the_clock_goes_back():
    turns = PageTurns()
    turns.rest(20, 2_000_000_000)
    assert turns.rest(20, 1_795_123_010) <= 2 * message_interval(20)


def test_page_rests_longer_after_a_message_if_many_pages_are_open(url):
    with served(watched(url)) as site:
        ears = [Ear(site) for _ in range(6)]
        assert all(ear.heard("event: live", 5) for ear in ears)
        assert site.send("/schedules/a/pause").status == 303
        assert all(ear.heard("event: changed", 5) for ear in ears)
        told = time.monotonic()
        assert site.send("/schedules/a/resume").status == 303
        while time.monotonic() < told + 2:  # six pages, about once a second together: one page every 5 seconds
            assert [ear.text.count("event: changed") for ear in ears] == [1] * 6
            time.sleep(0.05)
        moments = dict[int, float]()
        while len(moments) < 6 and time.monotonic() < told + 15:
            told_again = {number for number, ear in enumerate(ears) if ear.text.count("event: changed") > 1}
            moments |= {number: time.monotonic() for number in told_again - set(moments)}
            time.sleep(0.01)
        assert [ear.text.count("event: changed") for ear in ears] == [2] * 6
        assert max(moments.values()) - min(moments.values()) > 2.5  # one after another, not all at once
        for ear in ears:
            ear.close()


def test_page_without_a_stream_asks_for_changes(url):
    """Inside an application, whose server would wait for open streams when it stops."""
    with served(watched(url)) as one, served(watched(url, has_streams=False)) as other:
        assert other.get("/stream").status == 501
        position, end = "", time.monotonic() + 10
        while position == "" and time.monotonic() < end:
            position = json.loads(other.get("/changes?after=").text)["position"]
        time.sleep(2.5)
        assert one.send("/schedules/a/pause").status == 303
        time.sleep(1)
        for query, changed in (("", True), ("&schedule=a", True), ("&schedule=b", False)):
            assert json.loads(other.get(f"/changes?after={position}{query}").text)["changed"] is changed
        for unknown in ("999999999999", "x", "9" * 40):
            assert other.get(f"/changes?after={unknown}").status == 200


def test_server_that_stops_ends_the_streams(url):
    with served(watched(url)) as site:
        ear = Ear(site)
        assert ear.heard("event: live", 5)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    ear.thread.join(5)
    assert not ear.thread.is_alive()
    ear.connection.close()
