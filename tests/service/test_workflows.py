"""The run launcher, the workflow store, the executor, and deploying."""

import asyncio
import json

import pytest

from kron import KronError, parse
from kron.apps.service.app import make_parts
from kron.engine.clock import SystemClock
from kron.engine.launcher import Launch
from kron.launchers.signature import Secrets, verify
from kron.launchers.workflow import RunLauncher, WorkflowFolder, WorkflowLauncher, run_id_of
from kron.rules.launch_result import LaunchResponse, LaunchResult
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.stores.postgres.migrate import migrate
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.zone import instant_of
from tests.service.http import SECRET, config, receiving, serving, until, workflow

DAG = {"nodes": [{"id": "a"}, {"id": "b"}], "edges": [["a", "b"]]}
NOON = instant_of("2026-03-01T12:00:00Z")
KEY = key_of("s1", NOON)


class Spy:
    """An executor that remembers."""

    def __init__(self, answer=None):
        self.answer, self.calls = answer, []

    async def run(self, dag, meta):
        self.calls.append((dag, dict(meta)))
        return self.answer


def folder(tmp_path, *, name="wf", version=3):
    store = WorkflowFolder(tmp_path / "workflows")
    asyncio.run(store.save_dag(name, version, DAG))
    return store


@pytest.mark.req(
    "SVC-API-LAUNCH", "SVC-CALL-RUN", "SVC-PC-LAUNCH-RUN", "SVC-ARCH-LAUNCHER", "SVC-ARCH-STORE", "SVC-NOTE-EXECUTOR"
)
def test_start_loads_the_dag_and_calls_the_executor_with_it(tmp_path):
    spy = Spy()
    starter = RunLauncher(folder(tmp_path), spy)
    assert asyncio.run(starter.start("wf", 3, "u1", "2026-03-01T12:00:00Z", KEY)) is True
    meta = {"source": "schedule", "user_id": "u1", "scheduled_for": "2026-03-01T12:00:00Z", "idempotency_key": KEY}
    assert spy.calls == [(DAG, meta)]


@pytest.mark.req("SVC-PC-LAUNCH-NODAG")
def test_start_is_false_without_a_dag(tmp_path):
    spy = Spy()
    starter = RunLauncher(folder(tmp_path), spy)
    assert asyncio.run(starter.start("wf", 4, "u1", "2026-03-01T12:00:00Z", KEY)) is False
    assert asyncio.run(starter.start("other", 3, "u1", "2026-03-01T12:00:00Z", KEY)) is False
    assert spy.calls == []


@pytest.mark.req("SVC-CALL-START")
def test_the_worker_starts_a_workflow_with_the_planned_time_and_the_key(tmp_path):
    spy = Spy()
    launcher = WorkflowLauncher(RunLauncher(folder(tmp_path, name="wf/1 &ü", version=7), spy), Secrets(SECRET))
    run = Run(KEY, "s1", NOON, 1, NOON * 1000 + 333, State.LAUNCHING, attempt=1)
    target = "workflow:wf%2F1%20%26%C3%BC?version=7&user=u%2F1"
    job = Job("s1", parse("0 12 * * *", dialect="service"), target=target)
    assert asyncio.run(launcher.start(Launch(run, job, 0))) == LaunchResponse(LaunchResult.OK)
    meta = {"source": "schedule", "user_id": "u/1", "scheduled_for": "2026-03-01T12:00:00Z", "idempotency_key": KEY}
    assert spy.calls == [(DAG, meta)]


def test_executor_gets_the_payload_of_the_schedule(tmp_path):
    spy = Spy()
    launcher = WorkflowLauncher(RunLauncher(folder(tmp_path), spy), Secrets(SECRET))
    run = Run(KEY, "s1", NOON, 1, NOON * 1000, State.LAUNCHING, attempt=1)
    schedule = parse("0 12 * * *", dialect="service")
    job = Job("s1", schedule, target="workflow:wf?version=3&user=u1", payload='{"a":[1]}')
    assert asyncio.run(launcher.start(Launch(run, job, 0))) == LaunchResponse(LaunchResult.OK)
    ((_, meta),) = spy.calls
    assert meta["payload"] == {"a": [1]}


def test_dags_in_a_table_are_shared_by_hosts_and_each_tenants_own(server, tmp_path):
    from tests.service.tokens import settings, token

    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'kron_api'"):
        server.sql("CREATE ROLE kron_api LOGIN")
    name = server.empty()
    asyncio.run(migrate(server.url(name)))
    common = {**settings(tmp_path), "workflow_store": "store:"}
    dag = {**DAG, "triggers": [{"id": "t", "type": "schedule_based", "cron_expr": "* * * * * *", "timezone": "UTC"}]}
    with receiving() as executor:
        common["executor_url"] = executor.url
        with (
            serving(store=server.url(name, "kron_api"), **common) as api,  # one host deploys,
            serving(store=server.url(name), run_worker=True, tick_ms=50, **common),  # another runs
        ):
            acme, beta = api.bearing(token("acme")), api.bearing(token("beta"))
            assert acme.put("/v1/workflows/wf/1", {"user_id": "u", "dag": {"old": True}}).status == 200
            assert acme.put("/v1/workflows/wf/1", {"user_id": "u", "dag": dag}).status == 200
            until(lambda: executor.seen)
            assert json.loads(executor.seen[0][2])["dag"] == dag
            asked = {"workflow_id": "wf", "version": 1, "user_id": "u", "scheduled_for": "2026-03-01T00:00:00Z"}
            asked["idempotency_key"] = "0" * 64
            assert acme.post("/run-launcher/start", asked).json == {"started": True}
            assert beta.post("/run-launcher/start", asked).json == {"started": False}
    server.drop(name)


def test_a_store_without_a_table_for_workflows_says_so(tmp_path):
    with pytest.raises(KronError, match="WORKFLOW_STORE"):
        make_parts(config(workflow_store="store:"), MemoryStore(SystemClock()))


@pytest.mark.parametrize(
    "name", ["..", "../x", "/etc/passwd", "a/../../b", ".", "x" * 190, "ü" * 190, "%2e%2e", "\x00"]
)
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    store = WorkflowFolder(tmp_path / "workflows")
    asyncio.run(store.save_dag(name, 1, DAG))
    assert asyncio.run(store.load_dag(name, 1)) == DAG
    files = [path.relative_to(tmp_path).parts for path in tmp_path.rglob("*.json")]
    assert [(len(parts), parts[0]) for parts in files] == [(3, "workflows")]


@pytest.mark.req("SVC-HTTP-LAUNCH", "SVC-NOTE-EXECUTOR")
def test_the_run_launcher_over_http(tmp_path):
    folder(tmp_path)
    asked = {"workflow_id": "wf", "version": 3, "user_id": "u1"}
    asked |= {"scheduled_for": "2026-03-01T12:00:00Z", "idempotency_key": KEY}
    with (
        receiving() as executor,
        serving(workflow_store=str(tmp_path / "workflows"), executor_url=executor.url) as service,
    ):
        assert service.post("/run-launcher/start", asked).json == {"started": True}
        ((_, headers, body),) = executor.seen
        sent = json.loads(body)
        assert sent["dag"] == DAG
        assert sent["meta"]["idempotency_key"] == headers["webhook-id"] == KEY
        assert verify(SECRET, headers, body, int(headers["webhook-timestamp"]))
        assert service.post("/run-launcher/start", {**asked, "version": 9}).json == {"started": False}
        other = {name: asked[name] for name in ("workflow_id", "version", "user_id")}
        other |= {"run_at": asked["scheduled_for"], "idem_key": KEY}  # the names of the other paragraph
        assert service.post("/run-launcher/start", other).json == {"started": True}
        assert service.post("/run-launcher/start", {**asked, "idempotency_key": "short"}).status == 422
        executor.answer = lambda n: (500, {}, b"")
        assert service.post("/run-launcher/start", asked).json == {"started": False}
    with serving() as service:
        assert service.post("/run-launcher/start", asked).status == 501


@pytest.mark.req("SVC-LIFE-DETECT", "SVC-CALL-UPSERT")
def test_deploying_a_workflow_upserts_its_schedule_based_triggers_and_they_run_it(tmp_path):
    dag = {
        **DAG,
        "triggers": [
            {"id": "tick", "type": "schedule_based", "cron_expr": "* * * * * *", "timezone": "UTC"},
            {"id": "hook", "type": "webhook", "url": "https://example.org"},
            {"type": "schedule_based", "cron_expr": "0 9 * * 1", "timezone": "Asia/Tokyo", "jitter_ms": 10},
        ],
    }
    settings = {"workflow_store": str(tmp_path), "run_worker": True, "tick_ms": 50}
    with receiving() as executor, serving(executor_url=executor.url, **settings) as service:
        reply = service.put("/v1/workflows/wf/3", {"user_id": "u1", "dag": dag})
        assert [each["schedule_id"] for each in reply.json["schedules"]] == ["wf.tick", "wf.1"]
        assert service.get("/schedules/wf.1").json["jitter_ms"] == 10
        until(lambda: executor.seen)
        sent = json.loads(executor.seen[0][2])
        assert sent["dag"] == dag
        assert set(sent["meta"]) == {"source", "user_id", "scheduled_for", "idempotency_key"}
        assert sent["meta"]["idempotency_key"] == key_of("wf.tick", instant_of(sent["meta"]["scheduled_for"]))
        dag["triggers"][0]["cron_expr"] = "61 * * * *"
        bad = service.put("/v1/workflows/wf/4", {"user_id": "u1", "dag": dag})
        assert bad.status == 422


def test_workflow_that_is_not_there_is_refused_and_tried_again(tmp_path):
    settings = {
        "workflow_store": str(tmp_path),
        "run_worker": True,
        "tick_ms": 50,
        "executor_url": "http://127.0.0.1:9/",
    }
    with serving(**settings) as service:
        service.post("/schedules/upsert", workflow(cron_expr="* * * * * *"))
        runs = lambda: service.get("/v1/schedules/s1/runs?limit=100").json["runs"]  # noqa: E731
        refused = until(lambda: next((run for run in runs() if run["attempt"] > 2), None), 15)
        assert refused["state"] in ("retry", "launching")


@pytest.mark.parametrize(
    ("body", "run_id"),
    [
        (b'{"run_id": "exec-7", "more": 1}', "exec-7"),
        (b"{}", ""),
        (b"", ""),
        (b"exec-7", ""),
        (b"[]", ""),
        (b"\xff", ""),
        (b'{"run_id": 7}', ""),
        (b'{"run_id": ""}', ""),
        (b'{"run_id": "a\\u0000b"}', ""),
        (b'{"run_id": "\\ud800"}', ""),
        (b'{"run_id": "' + b"x" * 201 + b'"}', ""),
        (b"[" * 60_000, ""),
    ],
    ids=range(12),
)
def test_what_can_be_the_name_of_a_run(body, run_id):
    assert run_id_of(body) == run_id


@pytest.mark.req("SVC-RUN-RUNID")
@pytest.mark.parametrize(("body", "run_id"), [(b'{"run_id": "exec-7"}', "exec-7"), (b"{}", None)])
def test_what_the_executor_calls_a_run_is_kept_and_shown(tmp_path, body, run_id):
    folder(tmp_path)
    settings = {"workflow_store": str(tmp_path / "workflows"), "run_worker": True, "tick_ms": 50}
    with receiving(lambda n: (202, {}, body)) as executor, serving(executor_url=executor.url, **settings) as service:
        service.post("/schedules/upsert", workflow(cron_expr="0 0 1 1 *"))
        key = service.post("/v1/schedules/s1/trigger").json["key"]
        until(lambda: service.get(f"/v1/runs/{key}").json["state"] == "success")
        assert service.get(f"/v1/runs/{key}").json["run_id"] == run_id
        assert service.get("/v1/schedules/s1/runs").json["runs"][0]["run_id"] == run_id
        assert service.get("/schedules/s1/runs").json["runs"][0]["run_id"] == run_id


@pytest.mark.req("SVC-NONGOAL")
def test_what_is_not_its_business_it_leaves_alone(tmp_path):
    """Nodes are handed on unread, triggers of other kinds are nobody's schedules, and no route takes an event."""
    nodes = [{"id": "a", "type": "no-such-action", "schedule_based": True, "code": "rm -rf /"}, 7, None]
    triggers = [{"id": "w", "type": "webhook", "url": "https://example.org"}, {"id": "e", "type": "event"}, "odd", None]
    dag = {"nodes": nodes, "triggers": triggers, "more": {"anything": [1.5, "ü"]}}
    settings = {"workflow_store": str(tmp_path), "run_worker": True, "tick_ms": 50}
    with receiving() as executor, serving(executor_url=executor.url, **settings) as service:
        assert service.put("/v1/workflows/wf/3", {"user_id": "u1", "dag": dag}).json == {"schedules": []}
        assert service.get("/v1/schedules").json["schedules"] == []
        service.post("/schedules/upsert", workflow(cron_expr="0 0 1 1 *"))
        service.post("/v1/schedules/s1/trigger")
        until(lambda: executor.seen)
        assert json.loads(executor.seen[0][2])["dag"] == dag
        for path in ("/events", "/v1/events", "/webhooks", "/v1/webhooks", "/v1/triggers"):
            assert service.post(path, {}).status in (404, 405)
