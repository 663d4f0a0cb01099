"""`kron worker` is the whole worker: it sends webhooks, serves metrics and probes, and no API."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from kron.apps.service.observe.readiness import Readiness
from kron.engine.events import Event
from tests.postgres import free_port
from tests.service.http import SECRET, Service, receiving, serving, until
from tests.service.test_config import ready

KRON = Path(sys.executable).with_name("kron")
SETTINGS = {
    "KRON_WEBHOOK_SECRET": SECRET,
    "KRON_WEBHOOK_ALLOW_PLAIN_HTTP": "true",
    "KRON_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
}


@contextmanager
def working(store, log, *words, **more):
    """A worker process, and a client of its probes."""
    port = free_port()
    env = {**os.environ, **SETTINGS, "TICK_MS": "100", **more}
    with log.open("ab") as out:
        command = [KRON, "worker", "--store", store, "--listen", f"127.0.0.1:{port}", *words]
        process = subprocess.Popen(command, env=env, stderr=out, stdout=subprocess.DEVNULL)
    try:
        yield Service(port, None), process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def lines(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_worker_process_sends_webhooks_and_serves_metrics(tmp_path):
    store, log = f"sqlite:{tmp_path}/kron.db", tmp_path / "log"
    with receiving() as receiver, serving(store=store) as api, working(store, log) as (worker, _):
        until(lambda: ready(worker), 30)
        assert api.put("/v1/schedules/a", {"schedule": "* * * * * *", "target": receiver.url}).status == 200
        until(lambda: receiver.seen, 20)
        until(lambda: " 0" not in metric(worker, "kron_runs_emitted"), 20)
        assert worker.get("/healthz").json == {"status": "ok"}
        for path in ("/v1/schedules", "/v1/webhook-secrets", "/schedules/a", "/openapi.json"):
            assert worker.get(path).status == 404, "a worker serves no API"
        assert worker.post("/metrics", {}).status == 405
    said = lines(log)
    assert {"worker_started", "launch_completed", "worker_stopped"} <= {line["event"] for line in said}
    assert SECRET.removeprefix("whsec_") not in log.read_text()


def test_one_worker_sends_webhooks_runs_workflows_and_commands_and_serves_metrics(database, tmp_path):
    """On PostgreSQL, as an elected leader: every kind of target runs in one process."""
    ran, log = tmp_path / "ran", tmp_path / "log"
    load = tmp_path / "command.ndjson"
    load.write_text(json.dumps({"identity": "c", "schedule": "* * * * *", "command": f"echo ran >> {ran}"}))
    trigger = {"id": "t", "type": "schedule_based", "cron_expr": "* * * * * *", "timezone": "UTC"}
    words = ("--command-journal", str(tmp_path / "journal"), "--leader-election", "--set", "WORKFLOW_STORE=store:")
    with receiving() as hook, receiving() as executor:
        settings = {"workflow_store": "store:", "executor_url": executor.url}
        more = {"KRON_EXECUTOR_URL": executor.url}
        with (
            serving(store=database, **settings) as api,
            working(database, log, *words, **more) as (leader, _),
        ):
            until(lambda: ready(leader), 30)
            subprocess.run([KRON, "load", load, "--store", database], check=True, timeout=60, capture_output=True)
            assert api.put("/v1/schedules/a", {"schedule": "* * * * * *", "target": hook.url}).status == 200
            assert api.put("/v1/workflows/w/1", {"user_id": "u", "dag": {"triggers": [trigger]}}).status == 200
            subprocess.run([KRON, "trigger", "c", "--store", database], check=True, timeout=60, capture_output=True)
            until(lambda: hook.seen and executor.seen and ran.exists() and ran.read_text(), 30)
            until(lambda: int(metric(leader, "kron_runs_emitted").split()[1]) >= 3, 20)
    said = lines(log)
    assert said[0]["launches"] == "command, http, https, workflow"
    assert {line["identity"] for line in said if line["event"] == "launch_completed"} == {"a", "c", "w.t"}


def metric(service, name):
    text = service.get("/metrics").body.decode()
    return next(line for line in text.splitlines() if line.startswith(name + " "))


def test_idle_worker_is_ready_and_logs_nothing(tmp_path):
    store, log = f"sqlite:{tmp_path}/kron.db", tmp_path / "log"
    with working(store, log) as (worker, _):
        until(lambda: ready(worker), 30)
        passes = metric(worker, "kron_worker_passes_total")
        until(lambda: int(metric(worker, "kron_worker_passes_total").split()[1]) > int(passes.split()[1]) + 10, 20)
        told = {line["event"] for line in lines(log)} - {"worker_started", "shards_gained"}
    assert not told, "no line for a pass without work"


def test_standby_worker_is_ready(tmp_path):
    store, log = f"sqlite:{tmp_path}/kron.db", tmp_path / "log"
    with working(store, log, "--leader-election") as (one, _), working(store, log, "--leader-election") as (other, _):
        until(lambda: ready(one) and ready(other), 30)


def test_worker_in_text_form_is_readable(tmp_path):
    store, log = f"sqlite:{tmp_path}/kron.db", tmp_path / "log"
    with working(store, log, "--log-format", "text") as (worker, _):
        until(lambda: ready(worker), 30)
    first = log.read_text().splitlines()[0]
    assert " INFO    worker " in first
    assert "started on sqlite:" in first


def test_worker_says_what_it_launches(tmp_path):
    store, log = f"sqlite:{tmp_path}/kron.db", tmp_path / "log"
    with working(store, log) as (worker, _):
        until(lambda: ready(worker), 30)
    assert lines(log)[0]["launches"] == "http, https", "it has no functions"
    assert "no_launcher" not in {line["event"] for line in lines(log)}


def test_worker_that_can_launch_nothing_warns_and_says_what_it_needs(tmp_path):
    store, log = f"sqlite:{tmp_path}/kron.db", tmp_path / "log"
    with working(store, log, "--log-format", "text", KRON_WEBHOOK_SECRET="") as (worker, _):
        until(lambda: ready(worker), 30)
    started, warning = log.read_text().splitlines()[:2]
    assert "; it launches nothing; metrics on " in started
    assert " WARNING this worker launches nothing: webhooks need KRON_WEBHOOK_SECRET, " in warning
    assert "host commands --command-journal" in warning


@pytest.mark.parametrize("flag", [["--listen", "127.0.0.1:99999"], ["--set", "TICKMS=5"]])
def test_worker_with_wrong_setting_prints_one_message(flag, tmp_path):
    ended = subprocess.run(
        [KRON, "worker", "--store", "memory:", *flag], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error[CONFIG]: ")


class Monotonic:
    now = 100.0

    def monotonic(self):
        return self.now


def test_readiness_follows_passes_and_not_shards():
    timer = Monotonic()
    readiness = Readiness(timer, 15_000)
    assert readiness.problem(), "before its first pass it could not take over"
    readiness(Event("pass", 1, {"examined": 0, "committed": 0}))
    assert not readiness.problem()
    timer.now += 14
    readiness(Event("pass_failed", 0, {"error": "x"}))
    assert not readiness.problem(), "its lease is not over yet"
    timer.now += 2
    assert "longer than its lease" in readiness.problem()
    readiness(Event("clock_skew_exceeded", 7, {"skew": 9_000}))
    readiness(Event("pass", 7, {"examined": 0, "committed": 0}))
    assert "clock" in readiness.problem()
    readiness(Event("pass", 8, {"examined": 0, "committed": 0}))
    assert not readiness.problem()
