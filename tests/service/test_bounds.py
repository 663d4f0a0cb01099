"""What may come in is bounded: bodies, depth, expressions, and the time that any of it takes."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service.http import NDJSON, serving, workflow
from tests.service.test_resources import definition


def test_a_body_that_is_too_long_is_refused(plain):
    reply = plain.post("/schedules/upsert", b"x" * 70_000, Content_Type="application/json")
    assert (reply.status, reply.json["code"]) == (413, "TOO_LARGE")


def test_a_line_of_a_bulk_that_is_too_long_is_refused_alone(plain):
    body = b'{"id": "' + b"x" * 200_000 + b'"}\n'
    said = plain.call("POST", "/v1/schedules:bulk", body, Content_Type="application/x-ndjson").lines
    assert [each["status"] for each in said] == [422]


def test_nested_json_is_refused(plain):
    reply = plain.post("/schedules/upsert", b"[" * 30_000, Content_Type="application/json")
    assert reply.status in (400, 422)


BOMBS = [
    ",".join(["1"] * 400) + " * * * *",
    "0 0 30 2 *",
    "*/0 * * * *",
    "1-9999999 * * * *",
    "1" * 900 + " * * * *",
    "0 0 29 2 *",
    "* " * 400,
    "0-59/1,0-59/1,0-59/1 * * * *",
]


@pytest.mark.parametrize("text", BOMBS, ids=range(len(BOMBS)))
def test_no_expression_takes_long(plain, text):
    plain.post("/schedules/upsert", workflow(schedule_id="warm"))
    began = time.perf_counter()
    reply = plain.post("/schedules/upsert", workflow(schedule_id="bomb", cron_expr=text))
    assert time.perf_counter() - began < 1.0
    assert reply.status in (200, 422)
    if reply.status == 200:
        began = time.perf_counter()
        assert plain.get("/v1/schedules/bomb/upcoming?n=1000").status == 200
        assert time.perf_counter() - began < 3.0


def test_what_never_runs_is_said_so(plain):
    assert plain.post("/schedules/upsert", workflow(schedule_id="never", cron_expr="0 0 30 2 *")).json["warnings"]


@pytest.mark.req("SVC-SEC-VALIDATE")
def test_upsert_with_a_bad_expression_or_zone_stores_nothing(plain):
    bad = [{"cron_expr": text} for text in ("61 * * * *", "0 12 * *", "@daily", "* * * * * ; true")]
    bad += [{"timezone": zone} for zone in ("Mars/Olympus", "../../etc/passwd", "UTC+1", "EST5EDT4,M3.2.0")]
    for wrong in bad:
        assert plain.post("/schedules/upsert", workflow(schedule_id="wrong", **wrong)).status == 422, wrong
    assert plain.get("/schedules/wrong").status == 404


@pytest.mark.req("SVC-SEC-VALIDATE")
def test_quotas():
    with serving(
        max_schedules_per_tenant=3,
        max_triggers_per_minute=2,
        min_interval_ms=60_000,
        allowed_timezones=("UTC", "Asia/Tokyo"),
    ) as service:
        for name in ("a", "b", "c", "a"):
            assert service.put(f"/v1/schedules/{name}", definition(timezone="UTC")).status == 200
        reply = service.put("/v1/schedules/d", definition(timezone="UTC"))
        assert (reply.status, reply.json["code"], "retry-after" in reply.headers) == (429, "QUOTA", True)
        assert service.call("DELETE", "/v1/schedules/a").status == 204
        assert service.put("/v1/schedules/d", definition(timezone="UTC")).status == 200
        assert [service.post("/v1/schedules/b/trigger").status for _ in range(3)] == [202, 202, 429]
        fast = service.put("/v1/schedules/b", definition(schedule="*/30 * * * * *", timezone="UTC"))
        assert (fast.status, fast.json["code"]) == (422, "BAD_FIELD")
        assert service.put("/v1/schedules/b", definition(timezone="Europe/Paris")).status == 422
        assert service.put("/v1/schedules/b", definition(timezone="Asia/Tokyo")).status == 200


def test_quota_holds_for_a_bulk_and_for_many_at_once():
    with serving(max_schedules_per_tenant=5) as service:
        lines = b"".join(json.dumps({"id": f"b{n}", **definition()}).encode() + b"\n" for n in range(40))
        for _ in range(2):
            said = service.call("POST", "/v1/schedules:bulk", lines, **NDJSON).lines
            assert Counter(each["status"] for each in said) == {200: 5, 429: 35}
    with serving(max_schedules_per_tenant=5) as service, ThreadPoolExecutor(10) as pool:
        said = list(pool.map(lambda n: service.put(f"/v1/schedules/p{n}", definition()).status, range(40)))
        assert Counter(said) == {200: 5, 429: 35}
