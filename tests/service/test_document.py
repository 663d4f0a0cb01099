"""The routes of the cron-service document, over real sockets."""

import asyncio
from hashlib import sha256

import pytest

from kron import parse
from kron.engine.clock import ManualClock
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.stores.sqlite import SqliteStore
from kron.timing.zone import instant_of
from tests.service.http import serving, until, workflow
from tests.stores.making import NOW, SECONDS, a_case, a_run


@pytest.mark.req("SVC-HTTP-UPSERT", "SVC-API-UPSERT", "SVC-PC-RETURN", "SVC-LIFE-VALIDATE", "SVC-DM-NEXT")
def test_upsert_answers_with_the_id_and_the_next_run_in_utc(plain):
    reply = plain.post("/schedules/upsert", workflow(schedule_id="a1"))
    assert reply.status == 200
    assert reply.json["schedule_id"] == "a1"
    assert reply.json["next_run_at"].endswith(":00Z")
    assert instant_of(reply.json["next_run_at"]) % 900 == 0
    assert plain.get("/schedules/a1").json["next_run_at"] == reply.json["next_run_at"]


@pytest.mark.req("SVC-DM-NEXT")
def test_next_run_at_of_a_schedule_with_a_zone_is_in_utc(plain):
    given = workflow(schedule_id="paris", cron_expr="30 12 1 1 *", timezone="Europe/Paris")
    found = plain.post("/schedules/upsert", given).json["next_run_at"]
    assert found[4:] == "-01-01T11:30:00Z"
    assert plain.get("/schedules/paris").json["next_run_at"] == found


@pytest.mark.req("SVC-HTTP-GET", "SVC-API-GET", "SVC-ADMIN-NEXT", "SVC-PC-ROW", "SVC-DM-WORKFLOW", "SVC-DM-UPDATED")
def test_a_schedule_is_read_with_its_next_five_fire_times(plain):
    given = workflow(schedule_id="a2", start_at="2027-01-01T00:00:00Z", end_at="2027-12-31T00:00:00Z", jitter_ms=500)
    plain.post("/schedules/upsert", {**given, "overlap_policy": "queue", "catchup_policy": "spread"})
    row = plain.get("/schedules/a2").json
    preview, updated, following = row.pop("preview"), row.pop("updated_at"), row.pop("next_run_at")
    assert row == {**given, "overlap_policy": "queue", "catchup_policy": "spread", "paused": False}
    assert following == "2027-01-01T00:15:00Z"  # strictly after start_at
    instants = [instant_of(text) for text in preview]
    assert len(preview) == 5
    assert instants == sorted(set(instants))
    assert all(abs(at - (instant_of(following) + 900 * n)) <= 1 for n, at in enumerate(instants))
    plain.post("/schedules/upsert", workflow(schedule_id="a2", cron_expr="0 0 * * *"))
    again = plain.get("/schedules/a2").json
    assert again["updated_at"] > updated
    assert (again["cron_expr"], again["jitter_ms"]) == ("0 0 * * *", 0)


@pytest.mark.req(
    "SVC-DM-JITTER", "SVC-DM-OVERLAP", "SVC-DM-CATCHUP", "SVC-CFG-OVERLAP", "SVC-CFG-CATCHUP", "SVC-CFG-JITTER"
)
def test_defaults_are_those_of_the_document_and_of_the_settings(plain):
    plain.post("/schedules/upsert", workflow(schedule_id="a3"))
    row = plain.get("/schedules/a3").json
    assert (row["jitter_ms"], row["overlap_policy"], row["catchup_policy"]) == (0, "skip", "none")
    for field, value in [("jitter_ms", -1), ("overlap_policy", "never"), ("catchup_policy", "all"), ("jitter_ms", "5")]:
        reply = plain.post("/schedules/upsert", workflow(schedule_id="a4", **{field: value}))
        assert (reply.status, field in reply.json["detail"]) == (422, True)
    assert plain.get("/schedules/a4").status == 404
    settings = {"default_overlap_policy": "allow", "default_catchup_policy": "spread", "default_jitter_ms": 7}
    with serving(**settings) as service:
        service.post("/schedules/upsert", workflow())
        row = service.get("/schedules/s1").json
        assert (row["jitter_ms"], row["overlap_policy"], row["catchup_policy"]) == (7, "allow", "spread")
        service.post("/schedules/upsert", workflow(overlap_policy="queue", catchup_policy="none", jitter_ms=0))
        row = service.get("/schedules/s1").json
        assert (row["jitter_ms"], row["overlap_policy"], row["catchup_policy"]) == (0, "queue", "none")


@pytest.mark.req("SVC-PC-VALID", "SVC-LIFE-VALIDATE")
@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("cron_expr", "61 * * * *", "OUT_OF_RANGE"),
        ("cron_expr", "0 12 * *", None),
        ("cron_expr", "0 0 12 * * * 2026", None),
        ("cron_expr", "@daily", None),
        ("timezone", "Mars/Olympus", None),
        ("timezone", "../../etc/passwd", None),
        ("start_at", "tomorrow", "BAD_FIELD"),
    ],
)
def test_what_is_invalid_is_refused_with_a_place_and_stores_nothing(plain, field, value, code):
    reply = plain.post("/schedules/upsert", workflow(schedule_id="bad", **{field: value}))
    said = reply.json
    assert reply.status == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert said["code"] == code or code is None
    assert said["hint"]
    if field != "start_at":
        first, last = said["span"]
        assert said["text"] == value
        assert 0 <= first <= last <= len(value) + 1  # where a field is missing, the place is behind the end
    assert plain.get("/schedules/bad").status == 404


@pytest.mark.req("SVC-PC-GENID")
def test_an_id_is_made_where_none_is_given(plain):
    body = workflow()
    del body["schedule_id"]
    one, other = (plain.post("/schedules/upsert", body).json["schedule_id"] for _ in range(2))
    assert one != other
    assert plain.get(f"/schedules/{one}").status == 200
    assert plain.post("/schedules/upsert", workflow(schedule_id="mine")).json["schedule_id"] == "mine"


@pytest.mark.req("SVC-HTTP-PAUSE", "SVC-API-PAUSE")
def test_pause_and_resume(plain):
    plain.post("/schedules/upsert", workflow(schedule_id="p1"))
    for paused in (True, False):
        reply = plain.post("/schedules/pause", {"schedule_id": "p1", "paused": paused})
        assert (reply.status, reply.body) == (204, b"")
        assert plain.get("/schedules/p1").json["paused"] is paused
    assert plain.post("/schedules/pause", {"schedule_id": "nobody", "paused": True}).status == 404
    assert plain.post("/schedules/pause", {"schedule_id": "p1", "paused": "yes"}).status == 422


@pytest.mark.req("SVC-HTTP-DELETE", "SVC-API-DELETE")
def test_delete(plain):
    plain.post("/schedules/upsert", workflow(schedule_id="d1"))
    reply = plain.call("DELETE", "/schedules/d1")
    assert (reply.status, reply.body) == (204, b"")
    assert plain.get("/schedules/d1").status == 404
    assert plain.call("DELETE", "/schedules/d1").status == 404


@pytest.mark.req("SVC-ADMIN-RUNS", "SVC-RUN-STATUS", "SVC-RUN-RUNAT")
def test_the_last_runs_with_the_words_of_the_document():
    with serving(run_worker=True, tick_ms=50) as service:
        service.post("/schedules/upsert", workflow(cron_expr="* * * * * *", jitter_ms=400))  # not due when planned
        runs = until(
            lambda: (found := service.get("/schedules/s1/runs?limit=2").json["runs"]) and len(found) > 1 and found
        )
        assert len(runs) == 2
        assert runs[0]["run_at"] > runs[1]["run_at"]
        for run in runs:
            assert set(run) == {
                "idempotency_key",
                "schedule_id",
                "run_at",
                "status",
                "run_id",
                "created_at",
                "updated_at",
            }
            assert run["status"] in ("ENQUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED")
            assert run["idempotency_key"] == sha256(f"s1:{instant_of(run['run_at'])}".encode()).hexdigest()
        until(
            lambda: "FAILED" in {run["status"] for run in service.get("/schedules/s1/runs").json["runs"]}
        )  # no launcher
        assert service.get("/schedules/s1/runs?limit=0").status == 422
        assert service.get("/schedules/s1/runs?limit=1001").status == 422


def test_seconds_may_come_last_and_a_busy_schedule_is_warned_of():
    with serving(cron_seconds_position="last") as service:
        reply = service.post("/schedules/upsert", workflow(cron_expr="0 12 * * * 30", timezone="UTC"))
        assert reply.json["next_run_at"].endswith("T12:00:30Z")
        assert reply.json["warnings"] == []
        reply = service.post("/schedules/upsert", workflow(cron_expr="* * * * * */10"))
        assert "every 10 s" in reply.json["warnings"][0]
    assert parse("30 0 12 * * *", dialect="service")


def test_patch_keeps_a_schedule_whose_seconds_come_last():
    with serving(cron_seconds_position="last") as service:
        for number, text in enumerate(("10 4 * * * 30", "0 9 * * 1 15", "0 12 * * *")):
            made = service.put(f"/v1/schedules/s{number}", {"schedule": text, "target": "https://example.org/"}).json
            patched = service.call(
                "PATCH", f"/v1/schedules/s{number}", b'{"description": "x"}', Content_Type="application/json"
            ).json
            assert patched["summary"] == made["summary"]
            again = {name: patched[name] for name in ("schedule", "dialect", "timezone", "target")}
            assert service.put(f"/v1/schedules/s{number}", again).json["summary"] == made["summary"]


def test_a_field_that_nobody_named_is_refused(plain):
    for more in ({"paused": True}, {"revision": 7}, {"tenant": "x"}, {"next_run_at": "2026-01-01T00:00:00Z"}):
        reply = plain.post("/schedules/upsert", workflow(schedule_id="extra", **more))
        assert (reply.status, reply.json["code"]) == (422, "INVALID")
    assert plain.get("/schedules/extra").status == 404


@pytest.mark.req("SVC-ADMIN-RUNS")
def test_runs_route_pages_through_all_rows(tmp_path):
    """Missed ticks are rows like the others, with the status SKIPPED: no page is shorter than what was asked for."""
    asyncio.run(record(tmp_path / "kron.db"))
    with serving(store=f"sqlite:{tmp_path}/kron.db", run_worker=False) as service:
        pages, token = [], ""
        while token is not None:
            answer = service.get(f"/schedules/a/runs?limit=2&page_token={token}").json
            pages.append([run["status"] for run in answer["runs"]])
            token = answer["next_page_token"]
        assert pages == [["SKIPPED", "SKIPPED"], ["SKIPPED", "SUCCESS"], ["SUCCESS"]]


async def record(path):
    store = SqliteStore(path, ManualClock(float(SECONDS)))
    states = (State.SUCCESS, State.SUCCESS, State.SKIPPED, State.MISSED, State.MISSED)
    runs = tuple(a_run(state, minute) for minute, state in enumerate(states, 1))
    assert await store.commit([ScheduleUpdate(None, a_case(), runs)], NOW) == [True]
    await store.close()
