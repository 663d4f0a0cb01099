"""Server-sent events: a tenant's own, of all processes, in order, from where one left off."""

import asyncio
import http.client
import json
import threading

import pytest

from kron.apps.service.event_stream import Feed
from kron.engine.clock import SystemClock, SystemTimer
from kron.engine.event_mirror import PAGE_SIZE, EventMirror, mirroring
from kron.engine.event_ring import RING_SIZE, RingEvent
from kron.stores.memory import MemoryStore
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
        assert [(name, data.get("state")) for _, name, data in read(mine.text)] == [
            ("schedule_changed", None),
            ("run_recorded", "launching"),
            ("launch_completed", "success"),
        ]
        assert {data["schedule_id"] for _, _, data in read(mine.text)} == {"s"}
        assert {data.get("key") for _, _, data in read(mine.text)} == {None, key}
        recorded = read(mine.text)[1][0]
        assert [name for _, name, _ in told(acme, Last_Event_ID=recorded)] == ["launch_completed"]
        assert [name for _, name, _ in read(other.text)] == ["schedule_changed"]
        assert told(beta, Last_Event_ID=recorded) == []
    assert mine.gone() and other.gone()  # the service has ended, and has let them go


def test_an_event_that_nobody_remembers_leaves_a_hole(plain):
    for last in ("other.1", "nothing", "999999999", "9" * 30):
        assert [name for _, name, _ in told(plain, Last_Event_ID=last)] == ["events_lost"]
    assert told(plain) == []


def test_process_without_a_worker_tells_what_the_workers_of_others_do(database):
    """The store carries the events, and an id of one process is good in another."""
    with (
        receiving() as receiver,
        serving(store=database, run_worker=True, tick_ms=50) as worker,
        serving(store=database, run_worker=False) as other,
    ):
        ear = Listener(other)
        until(lambda: worker.app.state.parts.relay.is_listened)
        other.put("/v1/schedules/s", {**HOUR, "target": receiver.url})
        until(lambda: "schedule_changed" in ear.text)  # each process writes its own events into the store
        other.post("/v1/schedules/s/trigger")
        until(lambda: "launch_completed" in ear.text)
        first, *rest = read(ear.text)
        assert [name for _, name, _ in (first, *rest)] == ["schedule_changed", "run_recorded", "launch_completed"]
        assert told(worker, Last_Event_ID=first[0]) == rest


def test_no_tenant_has_more_than_so_many_listeners(plain):
    ears = [Listener(plain, 2) for _ in range(20)]
    until(lambda: plain.app.state.parts.feed.listeners[""] == 20)
    refused = plain.get("/v1/events?seconds=0")
    assert (refused.status, refused.json["code"]) == (429, "QUOTA")
    assert all(each.gone() for each in ears)
    until(lambda: plain.app.state.parts.feed.listeners[""] == 0)
    assert told(plain) == []


@pytest.mark.parametrize("count", [0, 1, PAGE_SIZE, 3 * PAGE_SIZE + 1, RING_SIZE + 100])
@pytest.mark.parametrize("is_late", [False, True])
def test_listener_gets_all_that_the_ring_has_in_order(count, is_late):
    """Also one that comes later than the mirror of its process began."""

    async def script():
        ring = MemoryStore(SystemClock()).events
        mirror = EventMirror(ring, SystemTimer())
        async with mirroring(mirror):
            events = [RingEvent(n, f"{'ab'[n % 2]}/x", "e", {"attempt": n}) for n in range(count)]
            if is_late:
                await ring.listen()
                await ring.write(events)
            async with mirror.listening():
                if not is_late:
                    await ring.write(events)
                while mirror.position < count + 1:
                    await asyncio.sleep(0.01)
                return [text async for text in Feed(mirror, SystemTimer()).listen("a/", "1", 0)]

    found = read("".join(asyncio.run(script())))
    first = max(0, count - RING_SIZE)
    assert [data["attempt"] for _, name, data in found if name == "e"] == list(range(first, count, 2))
    assert [name for _, name, _ in found].count("events_lost") == (first > 0)
