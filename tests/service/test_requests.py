"""Requests as HTTP has them: what is read first, what is bounded, and what the headers mean."""

import json
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from kron.apps.service import bodies
from tests.service.http import NDJSON, serving
from tests.service.tokens import settings, token

DEFINITION = {"schedule": "0 3 * * *", "target": "http://127.0.0.1:9/hook"}
JSON = {"Content_Type": "application/json"}
CONTRADICTION = "* * * * * @win(after,1h) @only(hours=5;between=06:00-07:00)"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(**settings(tmp_path_factory.mktemp("keys"))) as service:
        yield service


def test_body_without_a_token_is_neither_read_nor_parsed(guarded, monkeypatch):
    parsed = []
    monkeypatch.setattr(bodies, "parse", lambda body: parsed.append(body))
    for path in ("/v1/workflows/x/1", "/v1/schedules/x"):
        assert guarded.call("PUT", path, b"[" * 60_000, **JSON).status == 401
        assert guarded.bearing(token(scope="schedules:read")).call("PUT", path, b"{}", **JSON).status == 403
    assert parsed == []


def test_large_bodies_of_a_tenant_do_not_hold_up_health(tmp_path):
    body = ('{"user_id":"u","dag":{"x":[' + ",".join(["[[[[[1]]]]]"] * 85_000) + "]}}").encode()
    many = ('{"user_id":"u","dag":{"x":["' + "x" * 900_000 + '"]}}').encode()
    with serving(**settings(tmp_path), workflow_store=str(tmp_path / "dags")) as service:
        acme, stop = service.bearing(token()), threading.Event()
        assert acme.call("PUT", "/v1/workflows/x/1", body, **JSON).status == 422  # half a million lists

        def attack():
            while not stop.is_set():
                assert acme.call("PUT", "/v1/workflows/x/1", many, **JSON).status == 200

        with ThreadPoolExecutor(4) as pool:
            attackers = [pool.submit(attack) for _ in range(4)]
            took = [_seconds(lambda: service.get("/healthz")) for _ in range(20)]
            stop.set()
            for each in attackers:
                each.result()
        assert max(took) < 1.0


def test_contradictory_constraints_are_refused_when_defined(plain):
    for text in (
        CONTRADICTION,
        "0 9 * * * @only(hours=9) @avoid(hours=8-10)",
        "0 9 * * * @only(dom=31;months=FEB)",
        "0 9 * * * @only(date=2001-01-01)",
        "0 9 * * * @avoid(dow=SUN-SAT)",
    ):
        body = {**DEFINITION, "schedule": text, "dialect": "kron"}
        for reply in (plain.put("/v1/schedules/contra", body), plain.post("/v1/preview", {"definition": body})):
            assert (reply.status, reply.json["code"]) == (422, "BAD_FIELD"), text
            assert "contradict" in reply.json["detail"]


def test_constraints_that_admit_something_are_taken(plain):
    for text in (
        "0 9 * * * @only(dom=29;months=FEB)",
        "0 9 * * * @only(hours=8-18;dow=MON-FRI) @avoid(date=2030-12-25)",
        "0 9 * * * @only(between=22:00-06:00)",
        "0 9 * * * @only(date=2999-12-31)",
    ):
        reply = plain.put("/v1/schedules/fine", {**DEFINITION, "schedule": text, "dialect": "kron"})
        assert reply.status == 200, (text, reply.body)


def test_search_for_runs_that_never_come_is_bounded(plain):
    """Each by itself, the cron fields and the constraint admit something; together they never do."""
    body = {**DEFINITION, "schedule": "0 9 * * * @win(after,30m) @only(hours=12)", "dialect": "kron"}
    assert plain.put("/v1/schedules/never", body).status == 200
    assert _seconds(lambda: plain.get("/schedules/never")) < 1.5
    assert _seconds(lambda: plain.get("/v1/schedules/never/upcoming?n=1000")) < 1.5
    reply = plain.get("/v1/schedules/never/upcoming?n=1000").json
    assert (reply["runs"], reply["has_more"]) == ([], True)
    assert re.match(r"no period until 20\d\d-.* has a time|no run was found within", reply["reason"])


@pytest.mark.parametrize(
    ("text", "day"), [("* * * * * @only(dow=SUN)", "SUN"), ("0 * * * * @only(date=2090-12-25)", "2090-12-25")]
)
def test_runs_behind_many_closed_periods_are_found(plain, text, day):
    body = {**DEFINITION, "schedule": text, "dialect": "kron"}
    assert plain.put("/v1/schedules/far", body).status == 200
    replies = [plain.get("/v1/schedules/far/upcoming?n=3"), plain.post("/v1/preview?n=3", {"definition": body})]
    replies = [[run["at"] for run in reply.json["runs"]] for reply in replies]
    for times in (*replies, plain.get("/schedules/far").json["preview"][:3]):
        assert len(times) == 3
        assert {day} & {times[0][:10], datetime.fromisoformat(times[0]).strftime("%a").upper()}


def test_searches_of_one_tenant_do_not_hold_up_others(tmp_path):
    body = {**DEFINITION, "schedule": "0 9 * * * @win(after,30m) @only(hours=12)", "dialect": "kron"}
    with serving(**settings(tmp_path)) as service:
        slow, other, stop = service.bearing(token("slow")), service.bearing(token("other")), threading.Event()
        other.put("/v1/schedules/x", DEFINITION)
        with ThreadPoolExecutor(6) as pool:
            for _ in range(6):
                pool.submit(lambda: [slow.post("/v1/preview?n=1000", {"definition": body}) for _ in _until(stop)])
            time.sleep(0.3)
            took = [_seconds(lambda: other.get("/v1/schedules/x/upcoming")) for _ in range(5)]
            took += [_seconds(lambda: service.get("/healthz")) for _ in range(10)]
            stop.set()
        assert max(took) < 1.0


def test_long_pages_of_one_tenant_do_not_hold_up_health(tmp_path):
    """A page of 1,000 takes about 0.1 s to write: in threads, one of a tenant at a time, and not on the event loop."""
    lines = b"".join(json.dumps({"id": f"p{n}", **DEFINITION}).encode() + b"\n" for n in range(1000))
    with serving(**settings(tmp_path)) as service:
        acme, stop = service.bearing(token()), threading.Event()
        acme.call("POST", "/v1/schedules:bulk", lines, **NDJSON)
        with ThreadPoolExecutor(16) as pool:
            for _ in range(16):
                pool.submit(lambda: [acme.get("/v1/schedules?limit=1000") for _ in _until(stop)])
            time.sleep(0.5)
            took = sorted(_seconds(lambda: service.get("/healthz")) for _ in range(20))
            stop.set()
        assert took[10] < 0.2


@pytest.mark.parametrize("depth", [60, 400, 900])
def test_deep_body_is_refused_with_an_audit_log_too(tmp_path, depth):
    with serving(audit_log=str(tmp_path / "audit"), workflow_store=str(tmp_path)) as service:
        for body in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
            assert service.call("PUT", "/v1/schedules/d", body, **JSON).status == 422
        dag = b'{"user_id": "u", "dag": {"x": ' + b"[" * depth + b"]" * depth + b"}}"
        assert service.call("PUT", "/v1/workflows/w/1", dag, **JSON).status == (200 if depth < 100 else 422)
        quoted = json.dumps({"user_id": "u", "dag": {"x": "[{" * depth}}).encode()
        assert service.call("PUT", "/v1/workflows/w/1", quoted, **JSON).status == 200


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999", "-1E400"])
def test_json_that_is_none_is_refused(plain, tmp_path, constant):
    with serving(workflow_store=str(tmp_path)) as service:
        dag = f'{{"user_id": "u", "dag": {{"x": {constant}}}}}'.encode()
        assert service.call("PUT", "/v1/workflows/w/1", dag, **JSON).status == 422
    line = json.dumps({"id": "n", **DEFINITION})[:-1] + f', "jitter_ms": {constant}}}'
    assert plain.call("PUT", "/v1/schedules/n", line.encode(), **JSON).status == 422
    said = plain.call("POST", "/v1/schedules:bulk", line.encode(), **NDJSON).lines
    assert [each["status"] for each in said] == [422]


@pytest.mark.parametrize("text", [r"\u0000", r"\ud800", r"\udfff x", r"\\\u0000"])
def test_text_that_stores_cannot_keep_is_refused(tmp_path, text):
    with serving(workflow_store=str(tmp_path)) as service:
        dag = f'{{"user_id": "u", "dag": {{"x": "{text}"}}}}'.encode()
        assert service.call("PUT", "/v1/workflows/w/1", dag, **JSON).status == 422
        fine = rb'{"user_id": "u", "dag": {"x": "\\u0000 \ud83d\ude00 \u00e9"}}'
        assert service.call("PUT", "/v1/workflows/w/1", fine, **JSON).status == 200


def test_nul_in_a_url_is_answered_400(plain):
    for path in ("/v1/schedules/a%00b", "/v1/workflows/w%00/1", "/v1/schedules?prefix=%00", "/schedules/%00"):
        assert plain.get(path).status == 400, path
        assert plain.call("PUT", path, b"{}", **JSON).status == 400, path


def test_head_is_answered_as_get_without_its_body(plain):
    plain.put("/v1/schedules/head", DEFINITION)
    got, head = plain.get("/v1/schedules/head"), plain.call("HEAD", "/v1/schedules/head")
    assert (head.status, head.headers["etag"], head.body) == (200, got.headers["etag"], b"")
    assert head.headers["content-length"] == str(len(got.body))
    assert plain.call("HEAD", "/v1/schedules/none").status == 404
    assert plain.call("HEAD", "/healthz").status == 200
    assert plain.call("HEAD", "/v1/events").status == 405


def test_if_match_star_on_a_missing_schedule_is_412(plain):
    assert plain.put("/v1/schedules/absent", DEFINITION, If_Match="*").status == 412
    assert plain.get("/v1/schedules/absent").status == 404
    plain.put("/v1/schedules/absent", DEFINITION)
    changed = plain.put("/v1/schedules/absent", {**DEFINITION, "schedule": "0 4 * * *"}, If_Match="*")
    assert (changed.status, changed.json["revision"]) == (200, 2)
    plain.call("DELETE", "/v1/schedules/absent")
    assert plain.put("/v1/schedules/absent", DEFINITION, If_Match="*").status == 412


def test_patch_without_if_match_is_retried_inside(tmp_path):
    """Two processes of one store, as far as they can see: each changes what the other has just read."""
    store = f"sqlite:{tmp_path / 'kron.db'}"
    with serving(store=store) as one, serving(store=store) as two:
        one.put("/v1/schedules/patched", DEFINITION)
        seen = Counter()

        def change(n):
            service = (one, two)[n % 2]
            for i in range(10):
                seen[service.call("PATCH", "/v1/schedules/patched", {"description": f"{n}-{i}"}).status] += 1

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(change, range(4)))
        assert seen == {200: 40}
        assert one.get("/v1/schedules/patched").json["revision"] == 41


def test_late_repetition_of_a_post_revives_nothing(plain):
    made = plain.post("/v1/schedules", DEFINITION, Idempotency_Key="late").json["id"]
    assert plain.post("/v1/schedules", DEFINITION, Idempotency_Key="late").json["id"] == made
    plain.call("DELETE", f"/v1/schedules/{made}")
    reply = plain.post("/v1/schedules", DEFINITION, Idempotency_Key="late")
    assert (reply.status, reply.json["code"]) == (410, "GONE")
    assert plain.get(f"/v1/schedules/{made}").status == 404


def test_page_token_that_is_none_is_refused(plain):
    plain.put("/v1/schedules/paged", DEFINITION)
    for path in ("/v1/schedules/paged/runs", "/schedules/paged/runs", "/v1/dead-letters"):
        for wrong in ("zzz", "0" * 64, "%F0%9F%92%A9"):
            assert plain.get(f"{path}?page_token={wrong}").status == 422, (path, wrong)
    assert plain.get("/v1/schedules?page_token=%F0%9F%92%A9").status == 422
    key = plain.post("/v1/schedules/paged/trigger").json["key"]
    plain.put("/v1/schedules/other", DEFINITION)
    assert plain.get(f"/v1/schedules/paged/runs?page_token={key}").status == 200
    assert plain.get(f"/v1/schedules/other/runs?page_token={key}").status == 422


def test_no_triggers_a_minute_means_none():
    with serving(max_triggers_per_minute=0) as service:
        service.put("/v1/schedules/s", DEFINITION)
        assert service.post("/v1/schedules/s/trigger").status == 403
        asked = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2026-01-02T00:00:00Z"}
        assert service.post("/v1/schedules/s/backfill", asked).status == 403
        assert service.get("/v1/schedules/s/runs").json["runs"] == []


def _seconds(work):
    began = time.perf_counter()
    assert work().status == 200
    return time.perf_counter() - began


def _until(stop):
    while not stop.is_set():
        yield
