"""Attempts over HTTP: why a webhook failed, what a target reported, and what a tenant does not see."""

import pytest

from kron.apps.service.auth.caller import Caller
from kron.apps.service.schemas.views import attempt_views
from kron.client import Client
from kron.rules.attempt import Attempt, AttemptResult, lost_attempt
from kron.rules.run_state import State
from tests.service.http import receiving, serving, until
from tests.stores.making import NOW, a_run

WORKING = {"run_worker": True, "tick_ms": 50, "store": "memory:"}
YEARLY = {"schedule": "0 0 1 1 *", "overlap_policy": "allow"}


def triggered(service, receiver, **more):
    service.put("/v1/schedules/job", {**YEARLY, "target": receiver.url, **more})
    return service.post("/v1/schedules/job/trigger").json["key"]


def test_refused_attempts_are_listed_until_the_run_is_accepted():
    answers = {1: (503, {"Retry-After": "0"}, b"upstream down")}
    with receiving(lambda n: answers.get(n, (200, {}, b""))) as receiver, serving(**WORKING) as service:
        key = triggered(service, receiver)
        run = until(lambda: (found := service.get(f"/v1/runs/{key}").json)["state"] == "success" and found)
        told = service.get("/v1/schedules/job/why").json
        listed = service.get("/v1/schedules/job/runs").json["runs"]
        client = Client(f"http://127.0.0.1:{service.port}")
        assert client.run(key) == run
    first, second = run["attempts"]
    assert (first["number"], first["result"], first["code"]) == (1, "retryable", 503)
    assert first["excerpt"] == "upstream down"
    assert (second["number"], second["result"], second["code"], second["excerpt"]) == (2, "ok", 200, "")
    assert (
        run["created_at"] <= first["at"] < run["started_at"] <= second["at"] <= run["finished_at"] == run["updated_at"]
    )
    assert told.keys() >= {"attempts", "started_at", "finished_at"}
    assert "attempts" not in listed[0]
    assert listed[0]["started_at"] == run["started_at"]


def test_run_that_is_accepted_at_once_has_no_attempts():
    with receiving() as receiver, serving(**WORKING) as service:
        key = triggered(service, receiver)
        run = until(lambda: (found := service.get(f"/v1/runs/{key}").json)["state"] == "success" and found)
    assert run["attempts"] == []


def test_dead_letter_says_why_it_was_rejected():
    with receiving(lambda n: (404, {}, b"no such hook")) as receiver, serving(**WORKING) as service:
        key = triggered(service, receiver)
        (letter,) = until(lambda: service.get("/v1/dead-letters").json["runs"])
        (attempt,) = service.get(f"/v1/runs/{key}").json["attempts"]
    assert (attempt["result"], attempt["code"], attempt["excerpt"]) == ("rejected", 404, "no such hook")
    assert letter["started_at"] is None
    assert letter["finished_at"]


def test_error_of_a_report_is_kept():
    with receiving() as receiver, serving(**WORKING) as service:
        key = triggered(service, receiver, completion="reported")
        until(lambda: service.get(f"/v1/runs/{key}").json["state"] == "enqueued")
        client = Client(f"http://127.0.0.1:{service.port}")
        assert client.report(key, "failed", 1, error="disk\n full " + "x" * 400)
        (attempt,) = client.run(key)["attempts"]
    assert attempt["result"] == "failed"
    assert attempt["excerpt"].startswith("disk full xxx")
    assert len(attempt["excerpt"]) == 200


@pytest.mark.parametrize("error", ["x" * 2_001, 7])
def test_error_that_is_too_long_or_no_text_is_refused(error):
    with serving() as service:
        reply = service.post(f"/v1/runs/{'0' * 64}/report", {"status": "failed", "error": error})
    assert reply.status in (400, 422)


def test_tenant_does_not_see_the_names_of_workers():
    attempts = [
        lost_attempt(a_run(State.LAUNCHING, owner="host-7:12:ab"), NOW),
        Attempt(2, NOW, 1, AttemptResult.RETRYABLE, 503, "down"),
    ]
    callers = [Caller(tenant, "ann", frozenset()) for tenant in ("", "acme")]
    shown = [[view.excerpt for view in attempt_views(attempts, caller)] for caller in callers]
    assert shown == [["worker host-7:12:ab recorded no result before its claim ended", "down"], ["", "down"]]
