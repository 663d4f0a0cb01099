"""Dead letters: runs that could not be started are listed and can be driven again; and patience across attempts."""

import json
import time
from dataclasses import replace

import pytest

from kron.apps.cli import main
from kron.rules.launch_result import MAX_RETRY_AFTER_MS, LaunchResult, answered
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.key import key_of
from kron.timing.schedule.policy import SECOND, SERVICE
from tests.service.http import receiving, serving, until
from tests.service.tokens import settings, token

WORK = {"run_worker": True, "tick_ms": 50}


def dead_ones(service, query=""):
    return service.get(f"/v1/dead-letters{query}").json["runs"]


def given_up(service, name, target, deadline_ms=None, **headers):
    """A run of a schedule whose target refuses it."""
    body = {"schedule": "0 9 1 1 *", "target": target, "overlap_policy": "allow", "deadline_ms": deadline_ms}
    assert service.put(f"/v1/schedules/{name}", body).status == 200
    key = service.post(f"/v1/schedules/{name}/trigger", **headers).json["key"]
    return until(lambda: next((run for run in dead_ones(service) if run["key"] == key), None))


@pytest.mark.parametrize("status", [404, 503])
def test_a_run_that_could_not_be_started_is_listed_and_driven_again_once(status):
    answer = [status]
    with receiving(lambda n: (answer[0], {}, b"")) as receiver, serving(**WORK) as service:
        dead = given_up(service, "s", receiver.url, deadline_ms=1_500)
        assert (dead["state"], dead["outcome"], dead["reason"]) == ("failed", "missed", "launch_failed")
        assert dead["redriven_by"] is None
        answer[0] = 204
        driven = [service.post(f"/v1/runs/{dead['key']}/redrive") for _ in range(2)]
        assert [reply.status for reply in driven] == [202, 202]
        again = driven[0].json
        assert driven[1].json["key"] == again["key"] != dead["key"]
        assert (again["period"], again["trigger"]) == (dead["period"], f"redrive:{dead['key']}")
        until(lambda: service.get(f"/v1/runs/{again['key']}").json["state"] == "success")
        data = json.loads(receiver.seen[-1][2])["data"]
        assert (data["key"], data["period"], data["trigger"]) == (again["key"], dead["period"], again["trigger"])
        (still,) = dead_ones(service)  # what is recorded stays, and says what came of it
        assert (still["state"], still["redriven_by"]) == ("failed", again["key"])
        assert [json.loads(body)["data"]["key"] for _, _, body in receiver.seen].count(again["key"]) == 1
        refused = service.post(f"/v1/runs/{again['key']}/redrive")
        assert (refused.status, refused.json["code"]) == (409, "NOT_DEAD")
        assert service.post(f"/v1/runs/{'0' * 64}/redrive").status == 404


def test_one_that_fails_again_is_a_dead_letter_of_its_own():
    with receiving(lambda n: (404, {}, b"")) as receiver, serving(**WORK) as service:
        first = given_up(service, "s", receiver.url)
        second = service.post(f"/v1/runs/{first['key']}/redrive").json
        until(lambda: len(dead_ones(service)) == 2)
        third = service.post(f"/v1/runs/{second['key']}/redrive").json
        until(lambda: len(dead_ones(service)) == 3)
        assert [run["key"] for run in dead_ones(service)] == [third["key"], second["key"], first["key"]]


def test_pages_prefixes_and_tenants(tmp_path):
    with receiving(lambda n: (404, {}, b"")) as receiver, serving(**WORK, **settings(tmp_path)) as service:
        acme, beta = service.bearing(token("acme")), service.bearing(token("beta"))
        made = [given_up(acme, f"{'ab'[n % 2]}{n}", receiver.url)["key"] for n in range(5)]
        other = given_up(beta, "a0", receiver.url)["key"]
        page = acme.get("/v1/dead-letters?limit=3").json
        rest = acme.get(f"/v1/dead-letters?limit=3&page_token={page['next_page_token']}").json
        assert [run["key"] for run in page["runs"] + rest["runs"]] == made[::-1]
        assert rest["next_page_token"] is None
        assert [run["schedule_id"] for run in dead_ones(acme, "?prefix=b")] == ["b3", "b1"]
        assert [run["key"] for run in dead_ones(beta)] == [other]
        assert beta.get(f"/v1/dead-letters?page_token={made[-1]}").status == 422  # another tenant's run
        assert beta.post(f"/v1/runs/{made[0]}/redrive").status == 404


def test_the_command_line_lists_and_redrives(capsys):
    answer = [404]
    with receiving(lambda n: (answer[0], {}, b"")) as receiver, serving(**WORK) as service:
        dead = given_up(service, "s", receiver.url)
        url = ["--url", f"http://127.0.0.1:{service.port}"]
        assert main(["schedules", "dead-letters", "-o", "name", *url]) == 0
        assert capsys.readouterr().out == dead["key"] + "\n"
        answer[0] = 200
        assert main(["schedules", "redrive", dead["key"], "-o", "json", *url]) == 0
        (again,) = json.loads(capsys.readouterr().out)
        assert main(["schedules", "dead-letters", *url]) == 0
        assert again["key"][:12] in capsys.readouterr().out
        assert main(["schedules", "redrive", again["key"], *url]) == 1
        assert "can be redriven" in capsys.readouterr().err


def test_a_target_that_asks_for_patience_is_left_alone_for_so_long():
    times = []

    def answer(n):
        times.append(time.monotonic())
        return (503, {"Retry-After": "2"}, b"") if n == 1 else (200, {}, b"")

    with receiving(answer) as receiver, serving(**WORK) as service:
        service.put("/v1/schedules/s", {"schedule": "0 9 1 1 *", "target": receiver.url})
        key = service.post("/v1/schedules/s/trigger").json["key"]
        run = until(lambda: (r := service.get(f"/v1/runs/{key}").json)["state"] == "success" and r)
        assert run["attempt"] == 2
        assert times[1] - times[0] >= 1.9
        assert len({headers["webhook-id"] for _, headers, _ in receiver.seen}) == 1


def test_patience_ends_at_the_deadline_and_after_an_hour():
    key = key_of("s", 1000)
    run = Run(key, "s", 1000, 1, 1_000_000, State.LAUNCHING, attempt=1, owner="w")
    now = 1_000_500

    def after(patience, **more):
        return answered(run, LaunchResult.RETRYABLE, replace(SERVICE, **more), now, patience)

    assert 750 <= after(0).not_before - now <= 1_000
    assert after(50) == after(0)  # no less than without
    assert after(90_000).not_before == now + 90_000
    assert after(10**12).not_before == now + MAX_RETRY_AFTER_MS
    assert after(9_000, deadline=10 * SECOND).not_before == now + 9_000
    late = after(10_000, deadline=10 * SECOND)
    assert (late.state, late.dead) == (State.FAILED, True)
