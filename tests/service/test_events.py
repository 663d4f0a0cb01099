"""Server-sent events: a tenant's own, in order, from where one left off, and never more than the ring."""

import asyncio
import http.client
import json
import threading

import pytest

from kron.apps.service.event_stream import MAX_EVENTS_PER_TURN, Feed
from kron.engine.clock import SystemTimer
from kron.engine.events import Event
from tests.service.http import receiving, serving, until
from tests.service.tokens import settings, token

HOUR = {"schedule": "0 9 1 1 *", "overlap_policy": "allow"}


def read(text):
    """The events of a stream: (id, name, data)."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["id"], lines["event"], json.loads(lines["data"])))
    return found


def told(service, **headers):
    reply = service.get("/v1/events?seconds=0", **headers)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    return read(reply.body.decode())


class Listener:
    """Listens in a thread of its own."""

    def __init__(self, service, seconds=30):
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        headers = {"Authorization": f"Bearer {service.token}"} if service.token else {}
        self.connection.request("GET", f"/v1/events?seconds={seconds}", headers=headers)
        self.answer, self.text = self.connection.getresponse(), ""
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while chunk := self.answer.read1(65536):
            self.text += chunk.decode()
        self.connection.close()

    def gone(self):
        self.thread.join(10)
        return not self.thread.is_alive()


def test_who_listens_hears_what_happens_to_his_tenant_and_to_no_other(tmp_path):
    with receiving() as receiver, serving(**settings(tmp_path), run_worker=True, tick_ms=50) as service:
        acme, beta = service.bearing(token("acme")), service.bearing(token("beta"))
        mine, other = Listener(acme), Listener(beta)
        for each in (acme, beta):
            each.put("/v1/schedules/s", {**HOUR, "target": receiver.url})
        key = acme.post("/v1/schedules/s/trigger").json["key"]
        until(lambda: "launch_completed" in mine.text)
        assert [(name, data["state"]) for _, name, data in read(mine.text)] == [
            ("run_recorded", "launching"),
            ("launch_completed", "success"),
        ]
        assert {data["schedule_id"] for _, _, data in read(mine.text)} == {"s"}
        assert {data["key"] for _, _, data in read(mine.text)} == {key}
        first = read(mine.text)[0][0]
        assert [name for _, name, _ in told(acme, Last_Event_ID=first)] == ["launch_completed"]
        assert read(other.text) == told(beta, Last_Event_ID=first) == []
    assert mine.gone() and other.gone()  # the service has ended, and has let them go


def test_an_event_that_nobody_remembers_leaves_a_hole(plain):
    for last in ("other.1", "nothing", "999999999", f"{plain.app.state.parts.feed.process_token}.999999"):
        assert [name for _, name, _ in told(plain, Last_Event_ID=last)] == ["elsewhere", "events_lost"]
    assert [name for _, name, _ in told(plain)] == ["elsewhere"], "no worker here"


def test_no_tenant_has_more_than_so_many_listeners(plain):
    ears = [Listener(plain, 2) for _ in range(20)]
    until(lambda: plain.app.state.parts.feed.listeners[""] == 20)
    refused = plain.get("/v1/events?seconds=0")
    assert (refused.status, refused.json["code"]) == (429, "QUOTA")
    assert all(each.gone() for each in ears)
    until(lambda: plain.app.state.parts.feed.listeners[""] == 0)
    assert [name for _, name, _ in told(plain)] == ["elsewhere"]


@pytest.mark.parametrize("events", [0, 1, MAX_EVENTS_PER_TURN, 3 * MAX_EVENTS_PER_TURN + 1])
def test_the_ring_gives_all_that_it_has_in_order(events):
    async def script(kept):
        feed = Feed(SystemTimer(), kept)
        for n in range(events):
            feed(Event("e", n, {"identity": f"{'ab'[n % 2]}/x", "attempt": n}))
        feed(Event("pass", 0, {}))
        return [
            text
            async for text in feed.listen("a/", f"{feed.process_token}.0", 0 if events <= MAX_EVENTS_PER_TURN else 0.2)
        ]

    found = read("".join(asyncio.run(script(10_000))))
    assert [data["attempt"] for _, _, data in found] == list(range(0, events, 2))
    found = read("".join(asyncio.run(script(100))))
    assert [name for _, name, _ in found][:1] == (["events_lost"] if events > 100 else ["e"] * min(1, events))
    assert [data["attempt"] for _, name, data in found if name == "e"] == list(range(0, events, 2))[-50:]
