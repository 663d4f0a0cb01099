"""Limits and breakers of a service with a real receiver: one that is down is spared, and loses nothing."""

import time

from kron.apps.cli import main
from tests.service.http import receiving, serving, until

WORKING = {"run_worker": True, "tick_ms": 50, "shard_lease_ms": 1_000}
JOB = {"schedule": "0 3 * * *", "overlap_policy": "allow"}


def trigger(service, receiver, count, name="hook"):
    service.put(f"/v1/schedules/{name}", {**JOB, "target": receiver.url})
    for n in range(count):
        assert service.post(f"/v1/schedules/{name}/trigger", {}, Idempotency_Key=f"{name}{n}").status < 300


def runs_of(service, name="hook"):
    return service.get(f"/v1/schedules/{name}/runs?limit=100").json["runs"]


def excerpts_of(service, key):
    return [attempt["excerpt"] for attempt in service.get(f"/v1/runs/{key}").json["attempts"]]


def test_receiver_that_is_down_gets_every_run_later():
    is_down = True

    def answer(_):
        return (503 if is_down else 204), {}, b""

    settings = {"breaker_failures": 5, "breaker_hold_ms": 700, "breaker_max_hold_ms": 700}
    with receiving(answer) as receiver, serving(**WORKING, **settings) as service:
        trigger(service, receiver, 40)
        until(lambda: len(receiver.seen) >= 5)
        time.sleep(2.5)
        sent_while_down = len(receiver.seen)
        causes = [excerpt for run in runs_of(service) for excerpt in excerpts_of(service, run["key"])]
        assert any(cause.startswith("the worker holds 127.0.0.1 after ") for cause in causes)
        metrics = service.get("/metrics").body.decode()
        assert "kron_breakers_opened_total 1" in metrics
        assert "kron_targets_held 1.0" in metrics
        is_down = False
        until(lambda: all(run["state"] == "success" for run in runs_of(service)), 20)
        assert len({headers["webhook-id"] for _, headers, _ in receiver.seen}) == 40
        assert sent_while_down < 40 + 10, "without a hold, each run would have been sent several times"
        until(lambda: "kron_targets_held 0.0" in service.get("/metrics").body.decode())


def test_receiver_gets_no_more_than_its_limit():
    """Four requests leave per second: the fifth at least 1 s after the first. A busy machine can only add to that."""
    times = []

    def answer(_):
        times.append(time.monotonic())
        return 204, {}, b""

    with receiving(answer) as receiver, serving(**WORKING, target_limits=("127.0.0.1=4/s",)) as service:
        began = time.monotonic()
        trigger(service, receiver, 10)
        until(lambda: len(times) == 10, 20)
    waits = [moment - began for moment in times]
    assert all(wait >= n // 4 for n, wait in enumerate(waits)), waits


def test_limits_of_the_command_line_are_settings(capsys, tmp_path):
    words = ["worker", "--store", f"sqlite:{tmp_path}/k.db", "--limit", "a.example=10,5/s", "--limit", "*=3", "--check"]
    assert main(words) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("TARGET_LIMITS")]
    assert row == ["TARGET_LIMITS", "a.example=10,5/s,*=3", "flag"]
