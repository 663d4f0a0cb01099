"""Deploying a workflow and starting its runs: as a whole or not at all, and by its own tenant only."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from kron.launchers.workflow import WorkflowFolder
from kron.timing.key import key_of
from kron.timing.zone import instant_of
from tests.service.http import receiving, serving, until
from tests.service.tokens import settings, token

NOON = "2026-03-01T12:00:00Z"


@pytest.fixture
def deploying(tmp_path):
    with serving(workflow_store=str(tmp_path / "dags")) as service:
        yield service


def trigger(name, cron="0 3 * * *"):
    return {"type": "schedule_based", "id": name, "cron_expr": cron, "timezone": "UTC"}


def deploy(service, version, *triggers, name="w"):
    return service.put(f"/v1/workflows/{name}/{version}", {"user_id": "u", "dag": {"triggers": list(triggers)}})


def standing(service, prefix="w."):
    found = service.get(f"/v1/schedules?prefix={prefix}").json["schedules"]
    return [(each["id"], each["version"]) for each in found]


def test_deploy_with_one_wrong_trigger_changes_nothing(deploying):
    assert deploy(deploying, 1, trigger("one"), trigger("two", "0 99 * * *")).status == 422
    assert standing(deploying) == []
    assert deploy(deploying, 1, trigger("one"), trigger("two")).status == 200
    assert deploy(deploying, 2, trigger("one", "0 4 * * *"), trigger("two", "*/0 * * * *")).status == 422
    assert standing(deploying) == [("w.one", 1), ("w.two", 1)]


def test_deploy_that_is_refused_leaves_the_dag_as_it_was(tmp_path, monkeypatch):
    store = WorkflowFolder(tmp_path / "dags")
    with serving(workflow_store=str(tmp_path / "dags")) as service:
        assert deploy(service, 1, trigger("one")).status == 200
        before = asyncio.run(store.load_dag("w", 1))
        assert deploy(service, 1, trigger("two"), trigger("two")).status == 422
        assert deploy(service, 2, trigger("two"), trigger("two")).status == 422
        assert asyncio.run(store.load_dag("w", 1)) == before
        assert asyncio.run(store.load_dag("w", 2)) is None
        monkeypatch.setattr("kron.apps.service.together.MAX_WRITE_ATTEMPTS", 0)  # others are always faster
        assert deploy(service, 1, trigger("two")).status == 503
        assert asyncio.run(store.load_dag("w", 1)) == before
        assert standing(service) == [("w.one", 1)]


def test_deploy_above_the_quota_changes_nothing(tmp_path):
    with serving(workflow_store=str(tmp_path / "dags"), max_schedules_per_tenant=2) as service:
        assert deploy(service, 1, trigger("a"), trigger("b"), trigger("c")).status == 429
        assert standing(service) == []


def test_deploy_without_a_trigger_deletes_its_schedule(deploying):
    deploy(deploying, 1, trigger("a"), trigger("b"))
    deploying.put("/v1/schedules/w.hand", {"schedule": "0 5 * * *", "workflow_id": "w", "version": 1, "user_id": "u"})
    deploy(deploying, 1, trigger("a"), name="w.b2")  # another workflow, whose ids begin alike
    assert deploy(deploying, 2, trigger("a")).status == 200
    assert standing(deploying) == [("w.a", 2), ("w.b2.a", 1), ("w.hand", 1)]
    assert deploy(deploying, 3).status == 200
    assert standing(deploying) == [("w.b2.a", 1), ("w.hand", 1)]
    assert deploy(deploying, 1, trigger("a"), trigger("b")).status == 200  # back to what it was
    assert standing(deploying) == [("w.a", 1), ("w.b", 1), ("w.b2.a", 1), ("w.hand", 1)]


def test_deploys_at_the_same_time_leave_one_version(deploying):
    def one(version):
        return deploy(deploying, version, *(trigger(f"t{n}", f"{version} * * * *") for n in range(10))).status

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(one, range(1, 13))) <= {200, 503}
    assert len({version for _, version in standing(deploying)}) == 1


def test_two_triggers_of_one_id_are_refused(deploying):
    assert deploy(deploying, 1, trigger("a"), trigger("a", "0 4 * * *")).status == 422


@pytest.fixture
def executed(tmp_path):
    with (
        receiving() as executor,
        serving(
            **settings(tmp_path),
            workflow_store=str(tmp_path / "dags"),
            executor_url=executor.url,
            run_worker=True,
            tick_ms=50,
        ) as service,
    ):
        for tenant in ("bank", "mallory"):
            body = {
                "user_id": "u1",
                "dag": {"of": tenant, "triggers": [trigger("t", "* * * * * *")][tenant != "bank" :]},
            }
            assert service.bearing(token(tenant)).put("/v1/workflows/payroll/1", body).status == 200
        yield service, executor


def start(service, tenant, key):
    body = {"workflow_id": "payroll", "version": 1, "user_id": "u1", "scheduled_for": NOON, "idempotency_key": key}
    return service.bearing(token(tenant)).post("/run-launcher/start", body)


def test_start_under_the_key_of_another_tenant_uses_none_of_it_up(executed):
    """An executor remembers keys, and those of coming runs can be computed: no tenant may spend another's."""
    service, executor = executed
    coming = key_of("bank/payroll.t", instant_of(NOON))
    until(lambda: executor.seen)
    recorded = json.loads(executor.seen[0][2])["meta"]["idempotency_key"]
    executor.seen.clear()
    for key in (coming, recorded):
        assert start(service, "mallory", key).json == {"started": True}
    mine = [json.loads(body) for _, _, body in executor.seen if json.loads(body)["dag"]["of"] == "mallory"]
    assert len(mine) == 2
    for sent, key in zip(mine, (coming, recorded), strict=True):
        assert sent["meta"]["tenant"] == "mallory"
        assert sent["meta"]["user_id"] == "mallory/u1"
        assert sent["meta"]["idempotency_key"] not in (coming, recorded)
        assert sent["meta"]["idempotency_key"] == sha256(f"kron launcher\nmallory\n{key}".encode()).hexdigest()


def test_start_of_an_own_run_keeps_its_key(executed):
    service, executor = executed
    until(lambda: executor.seen)
    own = json.loads(executor.seen[0][2])["meta"]
    assert (own["tenant"], own["user_id"]) == ("bank", "bank/u1")
    run = service.bearing(token("bank")).get(f"/v1/runs/{own['idempotency_key']}").json
    executor.seen.clear()
    assert start(service, "bank", run["key"]).json == {"started": True}
    keys = [json.loads(body)["meta"]["idempotency_key"] for _, _, body in executor.seen]
    assert run["key"] in keys
