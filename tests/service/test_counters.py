"""`max_runs` and `pause_on_failure` over HTTP: definitions, patches, bulk lines, views, upcoming runs and why."""

import json

import pytest

from tests.service.http import NDJSON, receiving, serving, until

WORKING = {"run_worker": True, "tick_ms": 50, "store": "memory:"}
DAILY = {"schedule": "0 9 * * *", "target": "https://example.com/hook"}


def test_fields_are_set_patched_and_removed(plain):
    made = plain.put("/v1/schedules/counting", {**DAILY, "max_runs": 12, "pause_on_failure": 3}).json
    assert (made["max_runs"], made["pause_on_failure"]) == (12, 3)
    assert (made["run_count"], made["runs_left"], made["failure_count"]) == (0, 12, 0)
    patched = plain.call("PATCH", "/v1/schedules/counting", {"max_runs": 2, "pause_on_failure": None}).json
    assert (patched["max_runs"], patched["pause_on_failure"], patched["runs_left"]) == (2, None, 2)
    upcoming = plain.get("/v1/schedules/counting/upcoming?n=10").json
    assert (len(upcoming["runs"]), upcoming["has_more"]) == (2, False)


@pytest.mark.parametrize("field", ["max_runs", "pause_on_failure"])
@pytest.mark.parametrize("value", [0, -1, "3", 1.5, True])
def test_number_below_1_or_of_another_type_is_rejected(plain, field, value):
    reply = plain.put("/v1/schedules/wrong", {**DAILY, field: value})
    assert reply.status == 422
    assert field in json.dumps(reply.json)


def test_bulk_lines_set_the_fields(plain):
    line = json.dumps({"id": "bulk", **DAILY, "max_runs": 5, "pause_on_failure": 2})
    reply = plain.call("POST", "/v1/schedules:bulk", line.encode(), **NDJSON)
    assert reply.status == 200, reply.json
    stored = plain.get("/v1/schedules/bulk").json
    assert (stored["max_runs"], stored["pause_on_failure"]) == (5, 2)


def test_schedule_has_its_runs_and_its_views_say_so():
    with receiving() as receiver, serving(**WORKING) as service:
        definition = {"schedule": "* * * * * *", "target": receiver.url, "overlap_policy": "allow", "max_runs": 2}
        service.put("/v1/schedules/twice", definition)
        view = until(lambda: (found := service.get("/v1/schedules/twice").json)["runs_left"] == 0 and found)
        assert (view["run_count"], view["next_run_at"], view["paused"]) == (2, None, False)
        upcoming = service.get("/v1/schedules/twice/upcoming").json
        assert (upcoming["runs"], upcoming["reason"]) == ([], "the schedule has had its 2 runs")
        until(lambda: len(receiver.seen) == 2)
        assert len(service.get("/v1/schedules/twice/runs").json["runs"]) == 2


def test_failed_launches_pause_and_the_history_says_why():
    with receiving(lambda n: (400, {}, b"no")) as receiver, serving(**WORKING) as service:
        definition = {"schedule": "* * * * * *", "target": receiver.url, "pause_on_failure": 2}
        service.put("/v1/schedules/broken", definition)
        view = until(lambda: (found := service.get("/v1/schedules/broken").json)["paused"] and found)
        assert (view["paused_until"], view["next_run_at"], view["failure_count"]) == (None, None, 2)
        last = service.get("/v1/schedules/broken/history").json["changes"][-1]
        assert (last["action"], last["actor"], last["note"]) == ("paused", "kron", "2 runs failed in a row")
        resumed = service.post("/v1/schedules/broken/resume", {}).json
        assert (resumed["paused"], resumed["failure_count"]) == (False, 0)
