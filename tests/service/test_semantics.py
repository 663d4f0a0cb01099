"""The same is meant in process and over HTTP; and over every store."""

import asyncio

import pytest

from kron.apps.service.app import make_parts
from kron.apps.service.auth.caller import SCOPES, Caller
from kron.apps.service.routes.document import upsert
from kron.apps.service.schemas.requests import Upsert
from kron.apps.service.schemas.views import row
from kron.apps.wiring import open_store
from tests.service.http import config, receiving, serving, until, workflow

SCENARIO = [
    workflow(schedule_id="a"),
    workflow(schedule_id="a", cron_expr="0 0 * * *", jitter_ms=5),
    workflow(schedule_id="b", start_at="2030-01-01T00:00:00Z", overlap_policy="queue"),
]


def without_time(row):
    return {name: value for name, value in row.items() if name != "updated_at"}


@pytest.mark.req("SVC-API-SEMANTICS")
def test_in_process_and_over_http_the_same_calls_give_the_same_rows(tmp_path):
    caller = Caller("", "anonymous", frozenset(SCOPES))

    async def in_process():
        async with open_store("memory:") as store:
            parts = make_parts(config(), store)
            made = [(await upsert(Upsert(**body), caller, parts)).model_dump() for body in SCENARIO]
            await parts.registrar.pause("a")
            await parts.registrar.delete("b")
            shown = await row(parts.registrar, await parts.registrar.get("a"), caller, parts.config)
            return made, without_time(shown.model_dump())

    with serving() as service:
        made = [service.post("/schedules/upsert", body).json for body in SCENARIO]
        service.post("/schedules/pause", {"schedule_id": "a", "paused": True})
        service.call("DELETE", "/schedules/b")
        over_http = made, without_time(service.get("/schedules/a").json)
    assert asyncio.run(in_process()) == over_http


def test_over_postgresql(database):
    with receiving() as receiver, serving(store=database, run_worker=True, tick_ms=50) as service:
        made = service.put("/v1/schedules/pg", {"schedule": "* * * * * *", "target": receiver.url})
        assert (made.status, made.headers["etag"]) == (200, '"1"')
        until(lambda: receiver.seen)
        runs = until(lambda: (r := service.get("/v1/schedules/pg/runs").json["runs"]) and r[-1]["outcome"] and r)
        assert runs[-1]["outcome"] == "executed"
        assert (
            service.put("/v1/schedules/pg", {"schedule": "0 0 * * *", "target": receiver.url}, If_Match='"7"').status
            == 412
        )
        assert [each["id"] for each in service.get("/v1/schedules").json["schedules"]] == ["pg"]
        assert service.get("/schedules/pg/runs?limit=1").json["runs"][0]["status"] in ("ENQUEUED", "SUCCESS")
