"""Schedules as resources: revisions, pages, acts, previews and accounts, over real sockets."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from kron.client import Client
from kron.language.record import verify
from kron.timing.zone import instant_of
from tests.service.http import serving, until, workflow

HOOK = "http://127.0.0.1:9/hook"


def definition(**more):
    return {"schedule": "0 9 * * MON-FRI", "timezone": "Europe/Paris", "target": HOOK, **more}


def test_a_schedule_is_put_read_and_put_anew_under_its_revision(plain):
    made = plain.put("/v1/schedules/r1", definition(description="mail", note="first"))
    assert (made.status, made.headers["etag"], made.json["revision"]) == (200, '"1"', 1)
    assert made.json["summary"] == "At 09:00 from Monday to Friday, Europe/Paris time."
    assert plain.get("/v1/schedules/r1").json == made.json
    same = plain.put("/v1/schedules/r1", definition(description="mail"))
    assert same.headers["etag"] == '"1"'  # nothing was changed
    assert plain.put("/v1/schedules/r1", definition(), If_Match='"2"').status == 412
    assert plain.put("/v1/schedules/r1", definition(), If_None_Match="*").status == 412
    assert plain.put("/v1/schedules/r1", definition(schedule="0 10 * * *"), If_Match='"1"').headers["etag"] == '"2"'
    assert plain.put("/v1/schedules/r1", definition(), If_Match='W/"2"').status == 422
    assert plain.put("/v1/schedules/absent", definition(), If_Match='"1"').status == 412
    assert plain.get("/v1/schedules/absent").status == 404


def test_of_two_who_change_the_same_revision_one_is_told_so(plain):
    plain.put("/v1/schedules/race", definition())
    hours = range(10)
    with ThreadPoolExecutor(10) as pool:
        replies = list(
            pool.map(
                lambda h: plain.put("/v1/schedules/race", definition(schedule=f"{h} 1 * * *"), If_Match='"1"'), hours
            )
        )
    assert sorted(reply.status for reply in replies) == [200] + [412] * 9


def test_a_patch_changes_what_it_names(plain):
    plain.put("/v1/schedules/p1", definition(jitter_ms=0, end_at="2030-01-01T00:00:00Z", deadline_ms=60_000))
    changed = plain.call(
        "PATCH", "/v1/schedules/p1", {"timezone": "Asia/Tokyo", "end_at": None, "overlap_policy": "allow"}
    )
    assert changed.status == 200
    said = changed.json
    assert (said["timezone"], said["end_at"], said["overlap_policy"]) == ("Asia/Tokyo", None, "allow")
    assert (said["schedule"], said["target"], said["deadline_ms"]) == ("0 9 * * MON-FRI", HOOK, 60_000)
    assert plain.call("PATCH", "/v1/schedules/p1", {"schedule": "61 * * * *"}).json["span"] == [0, 2]
    assert plain.call("PATCH", "/v1/schedules/p1", {"schedule": "0 1 * * *"}, If_Match='"1"').status == 412
    moved = plain.call("PATCH", "/v1/schedules/p1", {"workflow_id": "wf", "version": 1, "user_id": "u"}).json
    assert (moved["target"], moved["workflow_id"]) == (None, "wf")
    assert plain.call("PATCH", "/v1/schedules/p1", {"revision": 9}).status == 422


def test_windows_sentences_and_zones_in_the_text(plain):
    window = definition(schedule="0 0 * * * @tz(Europe/Paris) @win(after,3h)", dialect="kron", timezone=None)
    made = plain.put("/v1/schedules/w1", window).json
    assert (made["dialect"], made["timezone"]) == ("kron", None)  # as it was written: the text names the zone
    assert plain.put("/v1/schedules/w1", made_again(made)).json["revision"] == 1  # what is said is what was meant
    sentence = plain.put("/v1/schedules/w2", definition(schedule="daily around 14:00", dialect="fuzzy", timezone=None))
    assert sentence.status == 200
    for wrong in (
        {**window, "timezone": "Asia/Tokyo"},
        {**window, "jitter_ms": 5},
        definition(schedule="0 0 * * * @policy(concurrency=allow)", dialect="kron"),
    ):
        assert plain.put("/v1/schedules/w3", wrong).json["code"] == "BAD_FIELD"


def made_again(shown):
    kept = ("schedule", "dialect", "target")  # what its author gave; the rest follows the settings
    return {name: shown[name] for name in kept}


def test_pages_and_filters():
    with serving() as service:
        names = [f"job-{n:02}" for n in range(7)]
        for name in [*names, "other"]:
            service.put(f"/v1/schedules/{name}", definition())
        service.post("/v1/schedules/job-03/pause", {"note": "holidays", "until": "2099-01-01T00:00:00Z"})
        service.call("DELETE", "/v1/schedules/job-05?note=gone")
        seen, token = [], ""
        while token is not None:
            page = service.get(f"/v1/schedules?prefix=job-&limit=2&page_token={token}").json
            seen += [each["id"] for each in page["schedules"]]
            token = page["next_page_token"]
            assert len(page["schedules"]) <= 2
        assert seen == [name for name in names if name != "job-05"]
        ids = lambda query: [each["id"] for each in service.get(f"/v1/schedules?{query}").json["schedules"]]  # noqa: E731
        assert ids("paused=true") == ["job-03"]
        assert ids("deleted=true") == ["job-05"]
        assert "job-03" not in ids("paused=false")
        assert service.get("/v1/schedules?limit=1001").status == 422


def test_a_pause_says_who_why_and_until_when_and_all_of_it_is_history(plain):
    plain.put("/v1/schedules/h1", definition(note="wanted by sales"))
    paused = plain.post("/v1/schedules/h1/pause", {"note": "holidays", "until": "2099-01-01T00:00:00Z"}).json
    assert (paused["paused"], paused["paused_until"]) == (True, "2099-01-01T00:00:00Z")
    assert paused["next_run_at"] >= "2099-01-01"
    assert plain.post("/v1/schedules/h1/pause", {"until": "2001-01-01T00:00:00Z"}).json["code"] == "PAST"
    plain.put("/v1/schedules/h2", definition())
    assert plain.post("/v1/schedules/h2/pause", {}).json["next_run_at"] is None
    assert plain.post("/v1/schedules/h1/resume", {"note": "back"}).json["paused"] is False
    assert plain.call("DELETE", "/v1/schedules/h1?note=done").status == 204
    changes = plain.get("/v1/schedules/h1/history").json["changes"]
    assert [(each["action"], each["note"]) for each in changes] == [
        ("defined", "wanted by sales"),
        ("paused", "holidays"),
        ("resumed", "back"),
        ("deleted", "done"),
    ]
    assert {each["actor"] for each in changes} == {"anonymous"}
    assert changes[1]["until"] == "2099-01-01T00:00:00Z"


def test_the_same_idempotency_key_is_the_same_schedule_and_the_same_run(plain):
    one = plain.post("/v1/schedules", definition(), Idempotency_Key="k1")
    again = plain.post("/v1/schedules", definition(), Idempotency_Key="k1")
    assert (one.status, again.status) == (201, 201)
    assert one.json["id"] == again.json["id"]
    assert one.headers["location"] == f"/v1/schedules/{one.json['id']}"
    other = plain.post("/v1/schedules", definition(schedule="0 1 * * *"), Idempotency_Key="k1")
    assert (other.status, other.json["code"]) == (409, "EXISTS")
    assert plain.post("/v1/schedules", definition()).json["id"] != one.json["id"]
    path = f"/v1/schedules/{one.json['id']}/trigger"
    runs = [plain.post(path, Idempotency_Key="now").json["key"] for _ in range(3)]
    assert len(set(runs)) == 1
    assert plain.post(path).json["key"] != runs[0]
    assert plain.get(f"/v1/runs/{runs[0]}").json["trigger"] == "now"


def test_backfill_runs_a_range_again_and_no_more_than_a_thousand(plain):
    plain.put("/v1/schedules/b1", definition(schedule="0 * * * *", timezone="UTC"))
    span = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2026-01-01T05:00:00Z"}
    made = plain.post("/v1/schedules/b1/backfill", span, Idempotency_Key="f")
    assert (made.status, len(made.json["runs"])) == (202, 6)
    assert plain.post("/v1/schedules/b1/backfill", span, Idempotency_Key="f").json == made.json
    reply = plain.post("/v1/schedules/b1/backfill", {**span, "end_at": "2027-01-01T00:00:00Z"})
    assert (reply.status, reply.json["code"]) == (422, "TOO_MANY")


@pytest.mark.parametrize("first", ["0001-01-01T02:12:07+12:07", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"])
def test_the_ends_of_time_are_instants_too(plain, first):
    """In UTC, some of them lie in years that no datetime has."""
    plain.put("/v1/schedules/b2", definition(schedule="0 0 1 1 *", timezone="UTC"))
    asked = {"start_at": first, "end_at": first}
    assert plain.post("/v1/schedules/b2/backfill", asked).status == 202
    assert plain.get(f"/v1/schedules/b2/why?at={first.replace('+', '%2B')}").status == 200


def test_previews_agree_with_what_is_defined(plain):
    asked = {"id": "n1", "definition": definition(schedule="0 0 * * * @win(after,3h)", dialect="kron", timezone=None)}
    before = plain.post("/v1/preview?n=10", asked).json
    assert plain.get("/v1/schedules/n1").status == 404  # nothing was stored
    plain.put("/v1/schedules/n1", asked["definition"])
    after = plain.get("/v1/schedules/n1/upcoming?n=10").json
    assert before["runs"] == after["runs"]
    assert after["has_more"] is True
    assert all(0 <= instant_of(f["at"]) - instant_of(f["period"]) < 3 * 3600 for f in after["runs"])
    until_then = plain.get(f"/v1/schedules/n1/upcoming?n=100&until={after['runs'][2]['at']}").json
    assert (len(until_then["runs"]), until_then["has_more"]) == (3, False)


def test_bulk_defines_line_by_line_and_says_which_line_is_wrong(plain):
    lines = [{"id": f"bulk-{n}", **definition()} for n in range(250)]
    lines[7]["schedule"] = "61 * * * *"
    lines[8]["surprise"] = 1
    body = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n{not json\n\n"
    reply = plain.call("POST", "/v1/schedules:bulk", body, Content_Type="application/x-ndjson")
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    said = reply.lines
    assert [each["line"] for each in said] == list(range(1, 252))
    assert [each["line"] for each in said if each["status"] != 200] == [8, 9, 251]
    assert said[7]["problem"]["span"] == [0, 2]
    assert said[8]["problem"]["code"] == "INVALID"
    assert plain.get("/v1/schedules/bulk-249").json["revision"] == 1


def test_why_of_a_key_tells_of_that_run(plain):
    plain.put("/v1/schedules/k1", definition())
    run = plain.post("/v1/schedules/k1/trigger", {}).json
    told = plain.get(f"/v1/schedules/k1/why?run={run['key']}").json
    assert (told["period"], told["state"], told["decision"]) == (run["period"], "pending", None)
    assert any(line.startswith(f"requested as {run['trigger']}, ") for line in told["explanation"])
    client = Client(f"http://127.0.0.1:{plain.port}")
    assert client.why("k1", run=run["key"]) == told
    plain.put("/v1/schedules/k2", definition())
    assert plain.get(f"/v1/schedules/k2/why?run={run['key']}").status == 404
    assert plain.get("/v1/schedules/k1/why?run=abc").status == 422


def test_why_tells_of_a_run_and_the_decision_can_be_verified():
    with serving(run_worker=True, tick_ms=50) as service:
        service.put("/v1/schedules/y1", definition(schedule="* * * * * *"))  # nobody listens there
        until(lambda: service.get("/v1/schedules/y1/runs").json["runs"])
        run = until(
            lambda: next((r for r in service.get("/v1/schedules/y1/runs?limit=50").json["runs"] if r["outcome"]), None)
        )
        told = service.get(f"/v1/schedules/y1/why?at={run['period']}").json
        assert (told["period"], told["outcome"], told["reason"]) == (run["period"], run["outcome"], run["reason"])
        assert told["explanation"][0].startswith("revision 1 by anonymous")
        assert verify(told["decision"]) == []
        until(lambda: len(service.get("/v1/schedules/y1/runs").json["runs"]) > 1)
        first = service.get("/v1/schedules/y1/runs?limit=1").json
        second = service.get(f"/v1/schedules/y1/runs?limit=1&page_token={first['next_page_token']}").json
        assert second["runs"][0]["period"] < first["runs"][0]["period"]


def test_health_readiness_and_metrics():
    with serving(run_worker=True, tick_ms=50) as service:
        assert service.get("/healthz").json == {"status": "ok"}
        until(lambda: service.get("/readyz").status == 200)
        service.post("/schedules/upsert", workflow(cron_expr="* * * * * *"))
        until(lambda: "\nruns_failed_launch 0" not in service.get("/metrics").body.decode())
        assert "kron_worker_passes_total" in service.get("/metrics").body.decode()


def test_an_unknown_route_and_a_wrong_method_are_problems(plain):
    for method, path, status in (("GET", "/nowhere", 404), ("PUT", "/healthz", 405)):
        reply = plain.call(method, path)
        assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.parametrize(
    "target",
    [
        "ftp://example.org/",
        "https://user:secret@example.org/",
        "https://example.org/#part",
        "https:///path",
        "https://exa mple.org/",
        "https://example.org\\@127.0.0.1/",
        "https://example.org:99999/",
        "javascript:alert(1)",
        "https://ex\u0430mple.org/",
        "https://example.org/" + "a" * 2100,
        "file:///etc/passwd",
        "python:anything",
        "command:",
        "kubernetes:default/report",
        "workflow:x?version=1&user=u",
    ],
)
def test_a_target_is_a_url_of_a_host_and_nothing_else(plain, target):
    reply = plain.put("/v1/schedules/t1", definition(target=target))
    assert (reply.status, reply.json["code"] in ("BAD_TARGET", "INVALID")) == (422, True)


def test_backfill_of_no_range_is_refused_with_the_reason(plain):
    plain.put("/v1/schedules/later", {"schedule": "0 3 * * *", "target": HOOK})
    for first, last, said in [
        ("2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z", "earlier than first"),
        ("2020-03-02T00:00:00Z", "2022-03-01T00:00:00Z", "longer than 366 days"),
    ]:
        reply = plain.post("/v1/schedules/later/backfill", {"start_at": first, "end_at": last})
        assert (reply.status, reply.json["code"]) == (422, "BAD_FIELD")
        assert said in reply.json["detail"]


def test_a_schedule_that_ended_before_it_was_defined_is_warned_of(plain):
    told = {"schedule": "0 3 * * *", "target": HOOK, "end_at": "2020-01-01T00:00:00Z"}
    reply = plain.put("/v1/schedules/ended", told)
    assert reply.json["warnings"] == ["the schedule never runs: end_at 2020-01-01T00:00:00Z is in the past"]
