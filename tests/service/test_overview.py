"""Questions about all schedules over HTTP: each tenant sees its own, every answer is bounded, pages are whole."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from kron.client import Client
from tests.service.http import receiving, serving, until
from tests.service.tokens import settings, token

WORK = {"run_worker": True, "tick_ms": 50}
DEFINITION = {"schedule": "0 9 1 1 *", "timezone": "UTC", "overlap_policy": "allow"}


def day(shift):
    return (datetime.now(UTC) + timedelta(days=shift)).strftime("%Y-%m-%dT00:00:00Z")


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def house(request, server, tmp_path_factory):
    """A service of two tenants: each has runs that succeeded, failed and still run, and paused schedules."""
    folder = tmp_path_factory.mktemp("house")
    name = server.database() if request.param == "postgres" else ""
    stores = {"sqlite": f"sqlite:{folder}/kron.db", "postgres": server.url(name) if name else ""}
    more = {"store": stores[request.param]} if request.param in stores else {}
    with (
        faster_load(),
        receiving(lambda n: (204, {}, b"")) as good,
        receiving(lambda n: (404, {}, b"")) as bad,
        serving(**settings(folder), **WORK, **more) as service,
    ):
        for tenant in ("acme", "beta"):
            fill(service.bearing(token(tenant)), good.url, bad.url, 1 if tenant == "beta" else 3)
        yield service
    if name:
        server.drop(name)


@contextmanager
def faster_load():
    """Let workers count the load every second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kron.engine.load_pass.INTERVAL_SECONDS", 1.0)
        patch.setattr("kron.engine.load_pass.MAX_FIRST_DELAY_SECONDS", 0.1)
        yield


def fill(caller, good, bad, count):
    for n in range(count):
        caller.put(f"/v1/schedules/bad{n}", {**DEFINITION, "target": bad, "note": f"bad {n}"})
        caller.post(f"/v1/schedules/bad{n}/trigger")
    until(lambda: len(caller.get("/v1/dead-letters").json["runs"]) == count)
    caller.put("/v1/schedules/good", {**DEFINITION, "target": good})
    caller.post("/v1/schedules/good/trigger")
    until(lambda: caller.get("/v1/schedules/good/runs").json["runs"][0]["state"] == "success")
    caller.put("/v1/schedules/long", {**DEFINITION, "target": good, "completion": "reported"})
    caller.post("/v1/schedules/long/trigger")
    until(lambda: caller.get("/v1/running").json["runs"])
    caller.put("/v1/schedules/resting", {**DEFINITION, "target": good})
    caller.post("/v1/schedules/resting/pause", {"note": "holidays", "until": "2999-01-01T00:00:00Z"})
    caller.put("/v1/schedules/daily", {**DEFINITION, "schedule": "0 9 * * *", "target": good})


@pytest.fixture(params=[("acme", 3), ("beta", 1)])
def tenant(request, house):
    name, count = request.param
    return house.bearing(token(name)), count


def test_stats_count_the_ends_of_the_tenant(tenant):
    caller, count = tenant
    told = caller.get(f"/v1/stats?from={day(0)}&to={day(1)}&step=86400").json
    assert told["step"] == 86_400
    assert {(each["state"], each["reason"]): each["periods"] for each in told["counts"]} == {
        ("success", None): 1,
        ("failed", "launch_failed"): count,
    }
    assert all(each["at"] == day(0) for each in told["counts"])
    fine = caller.get(f"/v1/stats?from={day(0)}&to={day(1)}").json["counts"]
    assert sum(each["periods"] for each in fine) == count + 1


def counted_after(caller, path, before):
    """When the load was counted, if that was after a time."""
    at = caller.get(path).json["counted_at"] or ""
    return at if at > before else ""


def test_load_is_that_of_the_tenant_after_a_round(house):
    acme, beta = (house.bearing(token(name)) for name in ("acme", "beta"))
    path = f"/v1/load?from={day(0)}&to={day(8)}&step=86400"
    beta.put("/v1/schedules/minutely", {**DEFINITION, "schedule": "* * * * *", "target": "http://127.0.0.1:9/"})
    beta.post("/v1/schedules/minutely/pause", {})
    for caller in (acme, beta):
        before = caller.get(path).json["counted_at"] or ""
        for _ in range(2):  # a round that was on its way can have read the old state
            before = until(lambda then=before, ask=caller: counted_after(ask, path, then), 30)
        told = caller.get(path).json
        assert len(told["intervals"]) == 8
        assert [each["runs"] for each in told["intervals"]][1:7] == [1] * 6, "the daily one"
        assert told["intervals"][1]["busiest_at"] == day(1).replace("T00", "T09")
        assert [kind["text"] for kind in told["kinds"]][:1] == ["0 9 * * *"]
        assert told["counted_at"]
    assert house.bearing(token("gamma")).get(path).json["counted_at"] is None
    assert Client(f"http://127.0.0.1:{house.port}", token("beta")).load(day(1), day(2))["intervals"][9]["runs"] == 1


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (f"from={day(0)}&to={day(0)}", 422),
        (f"from={day(-40)}&to={day(1)}&step=60", 422),
        (f"from={day(0)}&to={day(1)}&step=61", 422),
        (f"from={day(0)}&to={day(1)}&step=30", 422),
        (f"from={day(0)}", 422),
        ("from=yesterday&to=today", 422),
    ],
)
def test_stats_of_a_wrong_or_too_long_range_are_refused(house, query, status):
    assert house.bearing(token("acme")).get(f"/v1/stats?{query}").status == status


def test_running_runs_are_those_of_the_tenant(tenant):
    caller, _ = tenant
    (run,) = caller.get("/v1/running").json["runs"]
    assert (run["schedule_id"], run["state"]) == ("long", "enqueued")
    assert caller.get("/v1/running?limit=0").status == 422


def test_troubled_runs_are_paged(tenant):
    caller, count = tenant
    pages, token_text = [], ""
    while token_text is not None:
        page = caller.get(f"/v1/runs?state=failed&limit=1&page_token={token_text}").json
        pages += [(run["finished_at"], run["key"], run["schedule_id"]) for run in page["runs"]]
        token_text = page["next_page_token"]
    assert pages == sorted(pages, reverse=True)
    assert sorted(name for *_, name in pages) == [f"bad{n}" for n in range(count)]
    assert len(caller.get("/v1/runs").json["runs"]) == count
    assert caller.get("/v1/runs?state=missed&state=lost").json["runs"] == []
    assert caller.get("/v1/runs?before=2020-01-01T00:00:00Z").json["runs"] == []
    assert len(caller.get("/v1/runs?before=2999-01-01T00:00:00Z").json["runs"]) == count
    assert caller.get("/v1/runs?state=success").status == 422
    assert caller.get(f"/v1/runs?page_token={'0' * 64}").status == 422


def test_page_token_of_another_tenant_is_refused(house):
    theirs = house.bearing(token("acme")).get("/v1/runs?limit=1").json["next_page_token"]
    assert house.bearing(token("beta")).get(f"/v1/runs?page_token={theirs}").status == 422


def test_attention_has_dead_letters_troubled_and_paused_schedules(tenant):
    caller, count = tenant
    told = caller.get("/v1/attention").json
    assert sorted(run["schedule_id"] for run in told["dead_letters"]) == [f"bad{n}" for n in range(count)]
    assert told["troubled"] == [{"schedule_id": f"bad{n}", "state": "failed"} for n in range(count)]
    assert {"schedule_id": "resting", "paused_until": "2999-01-01T00:00:00Z"} in told["paused"]
    assert {each["schedule_id"] for each in told["paused"]} <= {"resting", "minutely"}
    assert told["late"] == []
    assert len(caller.get("/v1/attention?limit=1").json["dead_letters"]) == 1


def test_next_runs_are_decided_and_in_order(tenant):
    caller, count = tenant
    told = caller.get("/v1/next").json
    assert told["complete"] is True
    names = [run["schedule_id"] for run in told["runs"]]
    assert names[0] == "daily"
    assert names[-1] == "resting", "its pause ends in 2999"
    assert sorted(names) == sorted(["daily", "good", "long", "resting", *(f"bad{n}" for n in range(count))])
    assert [run["at"] for run in told["runs"]] == sorted(run["at"] for run in told["runs"])
    assert told["runs"][0]["at"] == caller.get("/v1/schedules/daily/upcoming?n=1").json["runs"][0]["at"]
    assert caller.get("/v1/next?limit=201").status == 422


def test_activity_is_paged_and_has_definitions_and_actions(tenant):
    caller, count = tenant
    changes, token_text = [], ""
    while token_text is not None:
        page = caller.get(f"/v1/activity?limit=2&page_token={token_text}").json
        changes += page["changes"]
        token_text = page["next_page_token"]
    told = [(each["schedule_id"], each["action"], each["note"]) for each in changes]
    requested = sorted(name for name, action, _ in told if action == "triggered")
    assert requested == sorted(["good", "long", *(f"bad{n}" for n in range(count))])
    assert [each for each in told if each[0] != "minutely" and each[1] != "triggered"] == [
        ("daily", "defined", ""),
        ("resting", "paused", "holidays"),
        ("resting", "defined", ""),
        ("long", "defined", ""),
        ("good", "defined", ""),
        *((f"bad{n}", "defined", f"bad {n}") for n in range(count)[::-1]),
    ]
    for wrong in ("x", "1.2.3.a", "1.1.x.a"):
        assert caller.get(f"/v1/activity?page_token={wrong}").status == 422


def test_workers_and_their_shards_are_for_the_scope_of_metrics(house):
    (worker,) = house.bearing(token("acme", scope="metrics:read")).get("/v1/workers").json["workers"]
    assert worker["alive"] is True
    assert worker["shards"] == list(range(64))
    assert house.bearing(token("acme", scope="schedules:read")).get("/v1/workers").status == 403


def test_me_is_the_caller(house, plain):
    told = house.bearing(token("acme", scope="schedules:read schedules:run", sub="ada")).get("/v1/me").json
    assert told == {"name": "ada", "tenants": ["acme"], "scopes": ["schedules:read", "schedules:run"]}
    assert plain.get("/v1/me").json["tenants"] == []


def test_periods_around_now_and_in_a_range(tenant):
    caller, _ = tenant
    told = caller.get("/v1/schedules/daily/periods?before=2&after=3").json["periods"]
    assert [each["absence"] for each in told] == ["undefined"] * 2 + ["coming"] * 3
    assert all(each["due_at"][11:19] == "09:00:00" and not each["requested"] for each in told)
    same = caller.get(f"/v1/schedules/daily/periods?from={told[0]['period']}&to={told[-1]['period']}").json["periods"]
    assert same == told
    (request,) = caller.get("/v1/schedules/good/periods?before=1&after=0").json["periods"][-1:]
    assert (request["requested"], request["outcome"], request["window_start"]) == (True, "executed", None)
    assert (request["explanation"], request["run"]["state"]) == ("executed: The run succeeded.", "success")
    resting = caller.get("/v1/schedules/resting/periods?before=0&after=1").json["periods"]
    assert [(each["absence"], each["paused_until"]) for each in resting] == [("paused", "2999-01-01T00:00:00Z")]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("before=0&after=0", 422),
        ("before=90&after=90", 422),
        ("before=101", 422),
        (f"from={day(0)}", 422),
        ("at=x", 422),
    ],
)
def test_periods_of_a_wrong_range_are_refused(house, query, status):
    assert house.bearing(token("acme")).get(f"/v1/schedules/daily/periods?{query}").status == status


def test_periods_of_another_tenant_are_not_there(house):
    house.bearing(token("acme")).put("/v1/schedules/only-acme", {**DEFINITION, "target": "http://127.0.0.1:9/"})
    assert house.bearing(token("beta")).get("/v1/schedules/only-acme/periods").status == 404


def test_client_asks_all_of_it(house):
    client = Client(f"http://127.0.0.1:{house.port}", token("beta"))
    assert client.me()["tenants"] == ["beta"]
    assert sum(each["periods"] for each in client.stats(day(0), day(1))["counts"]) == 2
    assert [run["schedule_id"] for run in client.running()] == ["long"]
    assert [run["schedule_id"] for run in client.troubled_runs(["failed"], page=1)] == ["bad0"]
    assert list(client.troubled_runs(before="2020-01-01T00:00:00Z")) == []
    assert client.next_runs(1)["runs"][0]["schedule_id"] == "daily"
    assert len(client.attention()["dead_letters"]) == 1
    assert len(list(client.activity(page=2))) >= 6
    assert len(client.workers()) == 1
    around = client.periods_around("daily", before=1, after=1)
    assert client.periods("daily", around[0]["period"], around[1]["period"]) == around


def test_preview_explains_the_text(house, plain):
    text = "30 17 * * MON-FRI @win(around,90m) @avoid(date=2026-10-30)"
    definition = {"schedule": text, "dialect": "kron", "target": "http://127.0.0.1:9/hook"}
    body = {"id": "reports", "definition": definition, "at": "2026-10-22T08:42:17Z"}
    told = plain.post("/v1/preview?n=10", body).json
    assert plain.post("/v1/preview?n=10", body).json == told, "the same answer at any time"
    assert (told["identity"], told["at"], told["text"]) == ("reports", "2026-10-22T08:42:17.000Z", text)
    assert [piece["text"] for piece in told["pieces"]] == text.split(" ")
    assert len(told["decisions"]) == len(told["runs"]) == 10
    assert [each["chosen_time"] for each in told["decisions"]] == [
        run["at"].replace(".000Z", "Z") for run in told["runs"]
    ]
    steps = plain.post("/v1/preview", {"definition": {**definition, "schedule": "*/7 * * * *"}}).json
    assert [(each["code"], each["start"], each["end"]) for each in steps["findings"]] == [("UNEVEN_STEP", 0, 3)]
    client = Client(f"http://127.0.0.1:{house.port}", token("beta"))
    explained = client.explain("reports", definition, 10, at="2026-10-22T08:42:17Z")
    assert explained["identity"] == "beta/reports"
    assert [run["period"] for run in explained["runs"]] == [run["period"] for run in told["runs"]]
    assert explained["runs"] != told["runs"], "another identity has other times"
