"""Streams have limits: one viewer cannot take all of a process, and no stream outlives the session of its viewer."""

import asyncio
import json
import time

import pytest

from kron.apps.dashboard.access import Role
from kron.apps.dashboard.open_streams import MAX_OF_ADDRESS, MAX_OF_PERSON
from kron.apps.dashboard.pages import stream
from kron.apps.service.login.sealed_cookie import SealedCookie
from kron.apps.service.login.session import Sessions
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.launchers.signature import Secrets
from tests.dashboard.served import in_thread, served, watched
from tests.dashboard.signing_in import SESSION_KEY
from tests.dashboard.test_actions import FixedClock
from tests.dashboard.test_stream import Ear
from tests.stores.making import a_job

EXPIRES = 2_000_000_000


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:{tmp_path / 'jobs.db'}"

    async def define():
        async with open_store(url) as store:
            await Registrar(store).upsert(a_job("a", "0 9 * * *"))

    in_thread(asyncio.run, define())
    return url


@pytest.fixture
def sessions():
    cookie = SealedCookie("kron", Secrets(SESSION_KEY), is_secure=False)
    return Sessions(cookie, FixedClock(EXPIRES - 3_600))


def signed_in(sessions, name, number=0):
    """Return the cookie of a session of a person."""
    value = {"id": f"{name}-{number}", "name": name, "role": Role.VIEWER, "tenants": None, "expires": EXPIRES}
    return f"{sessions.cookie.name}={sessions.cookie.sealed(value)}"


def closed(ears):
    for ear in ears:
        ear.close()


def test_person_has_a_number_of_streams_in_all_sessions_together_and_others_have_theirs(url, sessions):
    with served(watched(url, access=sessions)) as site:
        ears = [Ear(site, cookie=signed_in(sessions, "ana", number)) for number in range(MAX_OF_PERSON)]
        assert all(ear.heard("event: live", 5) for ear in ears)
        reply = site.get("/stream", Cookie=signed_in(sessions, "ana", 99))
        assert reply.status == 429
        assert f"{MAX_OF_PERSON} pages of yours are open" in reply.text
        changes = site.get("/changes?after=", Cookie=signed_in(sessions, "ana", 99))
        assert (changes.status, json.loads(changes.text)["changed"]) == (200, False), "the page asks instead"
        other = Ear(site, cookie=signed_in(sessions, "bob"))
        assert other.heard("event: live", 5)
        ears.pop().close()
        end = time.monotonic() + 10
        last = Ear(site, cookie=signed_in(sessions, "ana"))
        while last.answer.status == 429 and time.monotonic() < end:
            last.close()
            last = Ear(site, cookie=signed_in(sessions, "ana"))
        assert last.heard("event: live", 5), "a closed page makes room"
        closed([*ears, other, last])


def test_address_without_a_login_has_a_number_of_streams(url):
    with served(watched(url)) as site:
        ears = [Ear(site) for _ in range(MAX_OF_ADDRESS)]
        assert ears[-1].heard("event: live", 10)
        assert site.get("/stream").status == 429
        closed(ears)
    assert MAX_OF_PERSON < MAX_OF_ADDRESS < stream.MAX_STREAMS


def test_stream_ends_when_its_session_ends(url, sessions, monkeypatch):
    monkeypatch.setattr(stream, "KEEPALIVE_SECONDS", 0.2)
    with served(watched(url, access=sessions)) as site:
        ear = Ear(site, cookie=signed_in(sessions, "ana"))
        assert ear.heard("event: live", 5)
        assert ear.heard(":\n\n:\n\n", 5)
        ear.thread.join(0.5)
        assert ear.thread.is_alive(), "the session holds"
        sessions.clock.at = EXPIRES
        ear.thread.join(5)
        assert not ear.thread.is_alive()
        assert site.get("/stream", Cookie=signed_in(sessions, "ana")).status == 401
        closed([ear])


def test_change_after_the_end_of_a_session_is_not_told(url, sessions):
    """Also if it comes before the stream is looked at again."""
    with served(watched(url, access=sessions)) as site, served(watched(url)) as other:
        ear = Ear(site, cookie=signed_in(sessions, "ana"))
        assert ear.heard("event: live", 5)
        time.sleep(2.5)  # the other process knows by now that a page is open
        sessions.clock.at = EXPIRES
        assert other.send("/schedules/a/pause").status == 303
        ear.thread.join(5)
        assert not ear.thread.is_alive()
        assert "event: changed" not in ear.text
        closed([ear])


@pytest.mark.slow
def test_page_whose_stream_is_refused_asks_for_changes(url, page, monkeypatch):
    monkeypatch.setattr(stream, "MAX_OF_ADDRESS", 0)
    with served(watched(url)) as site:
        refused, asked = [], []
        page.on("response", lambda reply: refused.append(reply.status) if "/stream" in reply.url else None)
        page.on("response", lambda reply: asked.append(reply.status) if "/changes" in reply.url else None)
        page.goto(f"{site.address}/schedules/a")
        page.locator("#live").get_by_text("Live", exact=True).wait_for(timeout=10_000)
        assert (set(refused), set(asked)) == ({429}, {200})
        page.wait_for_timeout(2_500)  # the page has a position by now
        assert site.send("/schedules/a/pause").status == 303
        page.get_by_text("Paused", exact=False).first.wait_for(timeout=10_000)
