"""Webhooks: what is sent, what answers mean, and what a hostile receiver can do: nothing."""

import asyncio
import json
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate

import pytest

from kron import parse
from kron.engine.launcher import Launch
from kron.launchers.address import networks
from kron.launchers.http import HttpLauncher
from kron.launchers.post import Poster
from kron.launchers.signature import Secrets, sign, verify
from kron.rules.launch_result import LaunchResult, Report
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.timing.job import Job
from kron.timing.key import key_of
from kron.timing.zone import instant_of
from tests.service.certificates import Authority
from tests.service.http import LOOPBACK, NDJSON, REPORT, SECRET, receiving, serving, until

NOON = instant_of("2026-03-01T12:00:00Z")


def launch(target, identity="acme/job", attempt=1, **more):
    run = Run(key_of(identity, NOON), identity, NOON, 4, NOON * 1000 + 250, State.LAUNCHING, attempt=attempt, **more)
    return Launch(run, Job(identity, parse("0 12 * * *", dialect="service"), target=target), NOON * 1000 + 15_000)


def send(what, *, whole=False, seconds=3.0, allowed=LOOPBACK, secrets=None, **poster):
    async def sending():
        sender = Poster(allowed=networks(allowed), **poster)
        try:
            launcher = HttpLauncher(secrets or Secrets(SECRET), sender, plain=True, seconds=seconds)
            return await launcher.start(what)
        finally:
            sender.close()
            await asyncio.sleep(0)  # until the connections are closed

    said = asyncio.run(sending())
    return said if whole else said.result


def test_a_run_arrives_signed_and_says_all_in_its_body():
    with receiving() as receiver:
        sent = launch(receiver.url, attempt=2)
        assert send(sent, secrets=Secrets(SECRET, tenanted=True)) is LaunchResult.OK
        ((path, headers, body),) = receiver.seen
    assert path == "/hook"
    assert headers["webhook-id"] == sent.run.key
    assert headers["content-type"] == "application/cloudevents+json"
    event = json.loads(body)
    assert (event["specversion"], event["id"], event["subject"]) == ("1.0", sent.run.key, "job")
    assert event["data"] == {
        "schedule_id": "job",
        "key": sent.run.key,
        "period": "2026-03-01T12:00:00Z",
        "scheduled_for": "2026-03-01T12:00:00Z",
        "chosen": "2026-03-01T12:00:00.250Z",
        "attempt": 2,
        "not_after": "2026-03-01T12:00:15.000Z",
        "revision": 4,
        "trigger": None,
    }
    (secret,) = Secrets(SECRET, tenanted=True).written("acme")
    assert verify(secret, headers, body, time.time())
    assert not verify(SECRET, headers, body, time.time())  # each tenant has its own
    (another,) = Secrets(SECRET, tenanted=True).written("beta")
    assert not verify(another, headers, body, time.time())


def test_the_vector_of_standard_webhooks():
    """The example of the reference libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    headers = {"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330"}
    headers["webhook-signature"] = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert verify(secret, headers, body, 1614265330)
    assert not verify(secret, headers, body, 1614265330 + 301)
    assert not verify(secret, headers, body, 1614265330 - 301)
    assert not verify(secret, headers, body + b" ", 1614265330)
    assert not verify(secret, {**headers, "webhook-id": "msg_other"}, body, 1614265330)
    assert not verify(secret, {**headers, "webhook-timestamp": "1614265331"}, body, 1614265330)
    assert not verify(secret, {**headers, "webhook-signature": ""}, body, 1614265330)


def test_while_secrets_change_both_sign():
    old, new = SECRET, "whsec_" + "enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6eno="
    both = Secrets(f"{new} {old}")
    signature = sign(both.of(""), "id", 1_700_000_000, b"{}")
    headers = {"webhook-id": "id", "webhook-timestamp": "1700000000", "webhook-signature": signature}
    assert len(signature.split()) == 2
    assert all(verify(secret, headers, b"{}", 1_700_000_000) for secret in (old, new))


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, LaunchResult.OK),
        (202, LaunchResult.OK),
        (204, LaunchResult.OK),
        (301, LaunchResult.REJECTED),
        (302, LaunchResult.REJECTED),
        (307, LaunchResult.REJECTED),
        (400, LaunchResult.REJECTED),
        (401, LaunchResult.REJECTED),
        (404, LaunchResult.REJECTED),
        (409, LaunchResult.REJECTED),
        (410, LaunchResult.REJECTED),
        (422, LaunchResult.REJECTED),
        (408, LaunchResult.RETRYABLE),
        (425, LaunchResult.RETRYABLE),
        (429, LaunchResult.RETRYABLE),
        (500, LaunchResult.RETRYABLE),
        (503, LaunchResult.RETRYABLE),
        (599, LaunchResult.RETRYABLE),
    ],
)
def test_what_each_status_means(status, answer):
    with receiving(lambda n: (status, {"Location": "http://169.254.169.254/"}, b"")) as receiver:
        assert send(launch(receiver.url)) is answer
        assert len(receiver.seen) == 1  # nothing is followed


@pytest.mark.parametrize(
    ("status", "body", "report"),
    [
        (200, b'{"run": "success"}', Report.SUCCESS),
        (200, b'{"run": "failed", "why": "no paper"}', Report.FAILED),
        (202, b'{"run": "started"}', Report.STARTED),
        (200, b'{"status": "success"}', None),  # that may mean anything
        (200, b'{"run": "finished"}', None),
        (200, b'{"run": {"a": 1}}', None),
        (200, b'["run"]', None),
        (200, b"{", None),
        (200, b"{" * 4_000, None),
        (200, b'{"run": "success", "more": "' + b"x" * 5_000 + b'"}', None),
        (204, b"", None),
    ],
)
def test_an_answer_may_say_at_once_what_became_of_the_run(status, body, report):
    with receiving(lambda n: (status, {}, body)) as receiver:
        said = send(launch(receiver.url), whole=True)
    assert (said.result, said.report) == (LaunchResult.OK, report)


def test_a_conflict_about_the_same_key_is_no_failure():
    key = launch("").run.key
    with receiving(lambda n: (409, {"webhook-id": key}, b"")) as receiver:
        assert send(launch(receiver.url)) is LaunchResult.OK
    with receiving(lambda n: (409, {}, json.dumps({"seen": key}).encode())) as receiver:
        assert send(launch(receiver.url)) is LaunchResult.OK
    with receiving(lambda n: (409, {"webhook-id": "another"}, b"{}")) as receiver:
        assert send(launch(receiver.url)) is LaunchResult.REJECTED


@pytest.mark.parametrize(
    ("said", "milliseconds"),
    [
        ("1", 1000),
        ("3600", 3_600_000),
        ("date", 2000),
        ("-1", 0),
        ("soon", 0),
        ("9999999", 3_600_000),
        ("9" * 30, 3_600_000),
        ("", 0),
    ],
)
def test_how_long_a_target_asks_to_wait(said, milliseconds):
    def answer(n):
        after = formatdate(time.time() + 2, usegmt=True) if said == "date" else said
        return 429, {"Retry-After": after} if after else {}, b""

    with receiving(answer) as receiver:
        receipt = send(launch(receiver.url), whole=True)
        assert receipt.result is LaunchResult.RETRYABLE
        assert milliseconds - 1100 < receipt.retry_after_ms <= milliseconds
        assert len(receiver.seen) == 1  # it is the next attempt that waits


@contextmanager
def hostile(talk):
    """A listener that does as it pleases with a connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken = []

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            taken.append(1)
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection):
        try:
            with connection:
                connection.settimeout(10)
                talk(connection)
        except OSError:
            pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", taken
    finally:
        listener.close()


def heard(connection):
    connection.recv(65536)


def forever(chunk, after=b""):
    def talk(connection):
        heard(connection)
        connection.sendall(after)
        while True:
            connection.sendall(chunk)

    return talk


def slowly(connection):
    heard(connection)
    for byte in b"HTTP/1.1 200 OK\r\n" * 100:
        connection.sendall(bytes([byte]))
        time.sleep(0.3)


OK = b"HTTP/1.1 200 OK\r\n"
EMPTY = b"Content-Length: 0\r\n\r\n"
CONFLICT = b"HTTP/1.1 409 Conflict\r\nContent-Length: 9999999999\r\n\r\n"
HOSTILE = {
    "says nothing": (lambda c: (heard(c), time.sleep(5)), LaunchResult.UNKNOWN),
    "hangs up": (heard, LaunchResult.UNKNOWN),
    "resets": (
        lambda c: (heard(c), c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")),
        LaunchResult.UNKNOWN,
    ),
    "is garbage": (lambda c: (heard(c), c.sendall(bytes(range(256)) * 100)), LaunchResult.UNKNOWN),
    "a hundred headers": (lambda c: (heard(c), c.sendall(OK + b"x-some: thing\r\n" * 100 + EMPTY)), LaunchResult.OK),
    "hangs up in the body": (lambda c: (heard(c), c.sendall(OK + b"Content-Length: 99\r\n\r\nhalf")), LaunchResult.OK),
    "resets in the body": (
        lambda c: (
            heard(c),
            c.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 99\r\n\r\nhalf"),
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"),
        ),
        LaunchResult.RETRYABLE,
    ),
    "a chunk that lies": (
        lambda c: (heard(c), c.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")),
        LaunchResult.OK,
    ),
    "two lengths": (
        lambda c: (heard(c), c.sendall(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab")),
        LaunchResult.UNKNOWN,
    ),
    "10 MB": (
        lambda c: (heard(c), c.sendall(OK + b"Content-Length: 10485760\r\n\r\n" + b"x" * 10_485_760)),
        LaunchResult.OK,
    ),
    "drips": (slowly, LaunchResult.UNKNOWN),
    "endless first line": (forever(b"H" * 65536), LaunchResult.UNKNOWN),
    "endless headers": (forever(b"a: b\r\n", after=OK), LaunchResult.UNKNOWN),
    "endless interim answers": (forever(b"HTTP/1.1 100 Continue\r\n\r\n"), LaunchResult.UNKNOWN),
    "is no http": (lambda c: (heard(c), c.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")), LaunchResult.UNKNOWN),
    "half a status": (lambda c: (heard(c), c.sendall(b"HTTP/1.1 20")), LaunchResult.UNKNOWN),
    "a huge body": (forever(b"x" * 65536, after=OK + b"Content-Length: 9999999999\r\n\r\n"), LaunchResult.OK),
    "an endless chunked body": (
        forever(b"1\r\nx\r\n", after=OK + b"Transfer-Encoding: chunked\r\n\r\n"),
        LaunchResult.OK,
    ),
    "a body that never comes": (
        lambda c: (heard(c), c.sendall(OK + b"Content-Length: 9\r\n\r\n"), heard(c)),
        LaunchResult.OK,
    ),
    "a huge conflict": (forever(b"x" * 65536, after=CONFLICT), LaunchResult.REJECTED),
    "after an interim answer": (
        lambda c: (heard(c), c.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")),
        LaunchResult.OK,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_receiver_costs_no_more_than_the_time_of_an_attempt(name):
    talk, answer = HOSTILE[name]
    with hostile(talk) as (url, _):
        began = time.monotonic()
        assert send(launch(url), seconds=1.0) is answer
        assert time.monotonic() - began < 2.0


def test_receiver_that_hangs_up_at_once_is_sent_nothing_or_nobody_knows():
    """If it hung up before the request left, nothing was sent; after that, nobody knows."""
    with hostile(lambda c: None) as (url, taken):
        assert send(launch(url), seconds=1.0) in (LaunchResult.RETRYABLE, LaunchResult.UNKNOWN)
        assert len(taken) == 1


def test_receivers_that_hang_do_not_hold_up_others():
    hanging = hostile(lambda c: time.sleep(9))
    with hanging as (hole, taken), receiving() as receiver, serving(run_worker=True, tick_ms=50) as service:
        soon = int(time.time()) + 5
        when = f"{soon % 60} {soon // 60 % 60} * * * *"
        lines = [{"id": f"hang-{n}", "schedule": when, "target": hole} for n in range(60)]
        lines += [{"id": f"ok-{n}", "schedule": when, "target": receiver.url} for n in range(10)]
        body = b"\n".join(json.dumps(line).encode() for line in lines)
        assert {each["status"] for each in service.call("POST", "/v1/schedules:bulk", body, **NDJSON).lines} == {200}
        until(lambda: len(receiver.seen) == 10, 10)
        assert time.time() < soon + 5
        until(lambda: len(taken) > 20, 4)  # and those hang beside them


def test_nobody_there_is_no_doubt_but_a_reason_to_try_again():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert send(launch(f"http://127.0.0.1:{port}/")) is LaunchResult.RETRYABLE
    assert send(launch("http://host.invalid/")) is LaunchResult.RETRYABLE


def test_tls_is_checked(tmp_path):
    """A certificate that nobody vouches for is not spoken to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).issue("server"))
    listener = socket.create_server(("127.0.0.1", 0))
    heard_of = []

    def serve():
        try:
            connection, _ = listener.accept()
            with context.wrap_socket(connection, server_side=True) as safe:
                heard_of.append(safe.recv(10))
        except OSError:
            pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert send(launch(f"https://127.0.0.1:{listener.getsockname()[1]}/")) is LaunchResult.RETRYABLE
    thread.join(5)
    listener.close()
    assert heard_of in ([], [b""])


def test_from_the_definition_to_the_receiver_and_its_report():
    """The whole way: defined over HTTP, run by the worker, received, reported with the token that came with it."""
    known = {"public_url": "http://kron.example", "report_secret": REPORT}
    with receiving() as receiver, serving(run_worker=True, tick_ms=50, **known) as service:
        body = {"schedule": "* * * * * *", "target": receiver.url, "completion": "reported"}
        assert service.put("/v1/schedules/mail", body).json["completion"] == "reported"
        until(lambda: receiver.seen)
        (_, headers, body) = receiver.seen[0]
        assert verify(SECRET, headers, body, time.time())
        data = json.loads(body)["data"]
        run = until(lambda: (r := service.get(f"/v1/runs/{data['key']}").json) and r["state"] == "enqueued" and r)
        assert (run["period"], run["outcome"], run["attempt"]) == (data["period"], "executed", 1)
        assert data["report"]["url"] == f"http://kron.example/v1/runs/{data['key']}/report"
        path = f"/v1/runs/{data['key']}/report"
        assert service.post(path, {"status": "started"}).json == {"accepted": True, "state": "started"}
        assert service.post(path, {"status": "success"}).json == {"accepted": True, "state": "success"}
        assert service.post(path, {"status": "failed"}).json == {"accepted": False, "state": "success"}
        assert service.get(f"/v1/runs/{data['key']}").json["state"] == "success"
        assert service.post(f"/v1/runs/{'0' * 64}/report", {"status": "failed"}).status == 404


def test_webhook_of_every_second_is_delivered_every_second():
    """A receiver that answers 204 and never reports has done its part: the next period is not an overlap."""
    with receiving() as receiver, serving(run_worker=True, tick_ms=50) as service:
        made = service.put("/v1/schedules/often", {"schedule": "* * * * * *", "target": receiver.url}).json
        assert (made["overlap_policy"], made["completion"]) == ("skip", "accepted")
        until(lambda: len(receiver.seen) >= 4)
        key = json.loads(receiver.seen[0][2])["data"]["key"]
        late = service.post(f"/v1/runs/{key}/report", {"status": "failed"})
        assert (late.status, late.json) == (200, {"accepted": False, "state": "success"})
        runs = service.get("/v1/schedules/often/runs?limit=3").json["runs"]
        assert {run["state"] for run in runs[1:]} == {"success"}
        assert {run["reason"] for run in runs} == {None}


def test_target_with_its_scheme_in_capitals_is_sent():
    with receiving() as receiver, serving(run_worker=True, tick_ms=50) as service:
        target = receiver.url.replace("http://", "HTTP://")
        assert service.put("/v1/schedules/capitals", {"schedule": "0 9 1 1 *", "target": target}).status == 200
        key = service.post("/v1/schedules/capitals/trigger").json["key"]
        until(lambda: service.get(f"/v1/runs/{key}").json["state"] == "success")
        assert len(receiver.seen) == 1


def test_webhook_that_answers_started_is_followed():
    answer = (202, {}, b'{"run": "started"}')
    with receiving(lambda n: answer) as receiver, serving(run_worker=True, tick_ms=50) as service:
        service.put("/v1/schedules/long", {"schedule": "0 9 1 1 *", "target": receiver.url})
        key = service.post("/v1/schedules/long/trigger").json["key"]
        until(lambda: service.get(f"/v1/runs/{key}").json["state"] == "started")
        said = service.post(f"/v1/runs/{key}/report", {"status": "failed"})
        assert said.json == {"accepted": True, "state": "failed"}
