"""Events of KronJobs: valid for the API server, rare, and about what can need attention."""

import asyncio
import re

import pytest

from kron.apps.operator.definition import OperatorDefaults
from kron.apps.operator.events import MAX_WAITING, NORMAL, WARNING, EventTeller
from kron.apps.operator.identities import Identities
from kron.engine.events import Event
from kron.kube.failure import Refusal
from kron.kube.kind import EVENT, Place
from tests.operator.making import IDENTITY, PLACE, START, a_kronjob

KRONJOB = a_kronjob()


class Server:
    """Receives events."""

    def __init__(self):
        self.bodies, self.failures = [], []

    async def create(self, kind, namespace, body):
        assert (kind, namespace) == (EVENT, "shop")
        if self.failures:
            raise self.failures.pop(0)
        self.bodies.append(body)


def told(use, *, level="changes", quiet=600.0, shares=None, failures=()):
    """The events that the API server receives."""
    server = Server()
    server.failures += failures

    async def main():
        find = {PLACE: KRONJOB}.get
        teller = EventTeller(server, Identities(OperatorDefaults(), (), shares), find, level=level, quiet=quiet)
        task = asyncio.ensure_future(teller.run())
        await asyncio.sleep(0)
        await use(teller)
        while not teller._waiting.empty():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(main())
    return server.bodies


def of_worker(name, **facts):
    return Event(name, 0, {"identity": IDENTITY, "nominal": START, "key": "k", "attempt": 1, **facts})


def reasons(*events, level="changes"):
    async def use(teller):
        for event in events:
            teller.receive(event)

    return [(body["type"], body["reason"]) for body in told(use, level=level)]


def test_event_has_what_the_api_server_asks_for():
    async def use(teller):
        teller(KRONJOB, WARNING, "InvalidSpec", "é" * 2000)

    (body,) = told(use)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body["eventTime"])
    assert body["regarding"]["uid"] == KRONJOB.uid
    assert body["metadata"]["name"].startswith("report.")
    assert body["note"] == "é" * 500
    assert all(body[field] for field in ("reportingController", "reportingInstance", "action", "reason", "type"))


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (of_worker("run_finished", state="skipped", outcome="skipped", reason="overlap"), (NORMAL, "Skipped")),
        (of_worker("run_finished", state="skipped", outcome="skipped", reason="replaced"), (NORMAL, "Replaced")),
        (of_worker("run_finished", state="cancelled", outcome="executed", reason="replaced"), (NORMAL, "Replaced")),
        (of_worker("run_finished", state="missed", outcome="missed", reason="deadline"), (WARNING, "Missed")),
        (
            of_worker("launch_completed", state="failed", outcome="missed", reason="launch_failed", result="rejected"),
            (WARNING, "Missed"),
        ),
        (
            of_worker("run_finished", state="unschedulable", outcome="unschedulable", reason="constraints"),
            (WARNING, "Unschedulable"),
        ),
        (of_worker("run_finished", state="failed", outcome="executed", reason="failed"), (WARNING, "JobFailed")),
        (of_worker("run_finished", state="lost", outcome="executed", reason="silent"), (WARNING, "JobLost")),
        (
            Event(
                "gap_recorded",
                0,
                {
                    "identity": IDENTITY,
                    "first": START,
                    "last": START + 600,
                    "count": 11,
                    "outcome": "missed",
                    "reason": "deadline",
                },
            ),
            (WARNING, "Missed"),
        ),
    ],
)
def test_outcomes_that_are_not_as_usual_are_told(event, reason):
    assert reasons(event) == [reason]
    assert reasons(event, level="none") == []


def test_usual_outcomes_are_told_on_request_only():
    usual = [
        of_worker("launch_completed", state="enqueued", outcome="executed", result="ok"),
        of_worker("run_finished", state="success", outcome="executed"),
        of_worker("run_recorded", state="launching"),
    ]
    assert reasons(*usual) == []
    assert reasons(*usual, level="all") == [(NORMAL, "JobCreated"), (NORMAL, "JobSucceeded")]


def test_same_event_is_counted_and_told_again_later():
    async def use(teller):
        for _ in range(5):
            teller(KRONJOB, WARNING, "JobFailed", "it failed")
        teller(KRONJOB, WARNING, "Missed", "it was late")
        for name, series in list(teller._series.items()):
            teller._series[name] = series._replace(until=0.0)
        teller(KRONJOB, WARNING, "JobFailed", "it failed")

    bodies = told(use)
    assert [body["reason"] for body in bodies] == ["JobFailed", "Missed", "JobFailed"]
    assert [body.get("series", {}).get("count") for body in bodies] == [None, None, 5]


def test_event_that_is_refused_is_dropped():
    async def use(teller):
        teller(KRONJOB, NORMAL, "Adopted", "first")
        teller(KRONJOB, NORMAL, "Requested", "second")

    assert [body["reason"] for body in told(use, failures=[Refusal(403, {})])] == ["Requested"]


def test_events_of_others_are_left_to_them():
    async def use(teller):
        teller(KRONJOB, NORMAL, "Adopted", "first")
        teller.receive(Event("run_finished", 0, {"identity": "elsewhere", "nominal": START, "state": "failed"}))
        teller.receive(of_worker("pass"))

    assert told(use, shares=lambda: []) == []


def test_taken_name_is_told():
    async def use(teller):
        teller.name_taken(PLACE, "report-1")
        teller.name_taken(Place("shop", "gone"), "gone-1")

    assert [body["reason"] for body in told(use)] == ["NameTaken"]


def test_events_that_are_too_many_are_dropped_and_counted_in_two_lines(caplog):
    async def use(teller):
        for number in range(MAX_WAITING + 5):
            teller(KRONJOB, NORMAL, f"Reason{number}", "Text.")

    assert len(told(use)) == MAX_WAITING
    first, last = [record.getMessage() for record in caplog.records]
    assert first == f"event Reason{MAX_WAITING} of shop/report dropped: {MAX_WAITING} wait"
    assert last == "5 events were dropped in all"
