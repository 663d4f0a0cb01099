"""Payloads, labels and webhook options over HTTP: defined, read, changed, listed and sent."""

import asyncio
import json
from dataclasses import replace

import pytest

from kron.client import AsyncClient, Client
from kron.errors import InvalidInput
from kron.launchers.http import launch_result_of
from kron.launchers.post import Reply
from kron.launchers.signature import Secrets, verify
from kron.launchers.webhook import accepts, webhook_of
from kron.rules.launch_result import LaunchResult
from kron.timing.payload import payload_text
from tests.service.http import NDJSON, SECRET, receiving, serving, until
from tests.service.test_webhooks import launch, send

WORKFLOW = {"schedule": "0 9 * * *", "workflow_id": "w", "version": 1, "user_id": "u"}
PAYLOAD = {"customer": 42, "items": [1, 2.5, None, "grüße"], "nested": {"a": {}}}


def test_definition_with_data_is_read_as_it_was_written(plain):
    labels = {"team": "billing", "plan": "pro"}
    written = plain.put("/v1/schedules/d1", {**WORKFLOW, "payload": PAYLOAD, "labels": labels}).json
    assert (written["payload"], written["labels"], written["webhook"]) == (PAYLOAD, labels, None)
    row = plain.get("/v1/schedules/d1").json
    assert (row["payload"], row["labels"]) == (PAYLOAD, labels)
    again = {**WORKFLOW, "payload": row["payload"], "labels": row["labels"]}
    assert plain.put("/v1/schedules/d1", again).json["revision"] == 1
    assert plain.put("/v1/schedules/d1", {**again, "payload": 5}).json["revision"] == 2


def test_patch_changes_and_removes_data(plain):
    plain.put("/v1/schedules/d2", {**WORKFLOW, "payload": PAYLOAD, "labels": {"team": "a"}})
    changed = plain.call("PATCH", "/v1/schedules/d2", {"labels": {"team": "b"}}).json
    assert (changed["payload"], changed["labels"]) == (PAYLOAD, {"team": "b"})
    removed = plain.call("PATCH", "/v1/schedules/d2", {"payload": None, "labels": None}).json
    assert (removed["payload"], removed["labels"]) == (None, {})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"payload": "x" * 65_536}, "payload"),
        ({"labels": {"a b": "x"}}, "labels"),
        ({"labels": {"a": "x" * 300}}, "labels"),
        ({"webhook": {"method": "PUT"}}, "webhook"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_field(plain, fields, field):
    reply = plain.put("/v1/schedules/d3", {**WORKFLOW, **fields})
    assert reply.status == 422, reply.json
    assert f"invalid field {field}" in reply.json["detail"]
    assert reply.json["hint"]


def test_lists_select_by_labels(plain):
    for number in range(6):
        labels = {"half": str(number % 2), "third": str(number % 3), "set": "lists"}
        plain.put(f"/v1/schedules/l{number}", {**WORKFLOW, "labels": labels})
    client = Client(f"http://127.0.0.1:{plain.port}")

    def names(**labels):
        return [row["id"] for row in client.schedules(page=2, labels={"set": "lists", **labels})]

    assert names() == [f"l{number}" for number in range(6)]
    assert names(half="1") == ["l1", "l3", "l5"]
    assert names(half="1", third="0") == ["l3"]
    assert names(half="2") == []
    reply = plain.get("/v1/schedules?label=half")
    assert (reply.status, "has no value" in reply.json["detail"]) == (422, True)


def test_async_client_selects_by_labels(plain):
    plain.put("/v1/schedules/async", {**WORKFLOW, "labels": {"set": "async"}})
    client = AsyncClient(f"http://127.0.0.1:{plain.port}")

    async def names():
        return [row["id"] async for row in client.schedules(labels={"set": "async"})]

    assert asyncio.run(names()) == ["async"]


def test_page_with_large_payloads_is_cut_and_goes_on(plain):
    payload = "x" * 60_000
    for number in range(20):
        plain.put(f"/v1/schedules/big{number:02}", {**WORKFLOW, "payload": payload, "labels": {"set": "big"}})
    page = plain.get("/v1/schedules?label=set%3Dbig").json
    assert 0 < len(page["schedules"]) < 20
    assert page["next_page_token"] == page["schedules"][-1]["id"]
    client = Client(f"http://127.0.0.1:{plain.port}")
    assert len(list(client.schedules(labels={"set": "big"}))) == 20


def test_bulk_lines_carry_data(plain):
    lines = [{"id": f"bulk{n}", **WORKFLOW, "payload": {"n": n, "x": "y" * 50_000}} for n in range(60)]
    body = "\n".join(map(json.dumps, lines)).encode()
    reply = plain.call("POST", "/v1/schedules:bulk", body, **NDJSON)
    answers = reply.lines
    assert [answer["line"] for answer in answers] == list(range(1, 61))
    assert {answer["status"] for answer in answers} == {200}
    assert plain.get("/v1/schedules/bulk59").json["payload"]["n"] == 59


# what a receiver gets


@pytest.mark.parametrize("payload", [PAYLOAD, [], "text", 0, False, ""])
def test_payload_arrives_in_the_signed_body(payload):
    with receiving() as receiver:
        due = launch(receiver.url)
        due = replace(due, job=replace(due.job, payload=payload_text(payload)))
        assert send(due) is LaunchResult.OK
        ((_, headers, body),) = receiver.seen
    assert json.loads(body)["data"]["payload"] == payload
    (secret,) = Secrets(SECRET).written("")
    assert verify(secret, headers, body, int(headers["webhook-timestamp"]))


def test_method_and_headers_of_the_definition_are_sent():
    webhook = webhook_of("PUT", {"X-Team": "billing", "X-Empty": ""}, "200-299")
    with receiving() as receiver:
        due = launch(receiver.url)
        assert send(replace(due, job=replace(due.job, webhook=webhook))) is LaunchResult.OK
        ((_, headers, _),) = receiver.seen
    assert (headers["x-team"], headers["x-empty"]) == ("billing", "")
    assert headers["content-type"] == "application/cloudevents+json"


def test_whole_way_from_definition_to_receiver():
    with receiving(lambda n: (201, {}, b"")) as receiver, serving(run_worker=True, tick_ms=50) as service:
        webhook = {"method": "PATCH", "headers": {"X-Team": "a"}, "success": "201"}
        definition = {"schedule": "*/1 * * * * *", "target": receiver.url, "payload": PAYLOAD, "webhook": webhook}
        reply = service.put("/v1/schedules/s", definition)
        assert reply.status == 200, reply.json
        assert reply.json["webhook"] == webhook
        until(lambda: receiver.seen)
        _, headers, body = receiver.seen[0]
        assert json.loads(body)["data"]["payload"] == PAYLOAD
        assert headers["x-team"] == "a"
        until(lambda: service.get("/v1/schedules/s/runs").json["runs"][-1]["outcome"] == "executed")


@pytest.mark.parametrize(
    ("success", "canonical"),
    [("200", "200"), ("409,200-204,203-299", "200-299,409"), ("200, 201", "200-201"), ("500-599,200", "200,500-599")],
)
def test_status_codes_are_sorted_and_merged(success, canonical):
    assert webhook_of("POST", {}, success).success == canonical


def test_only_the_named_status_codes_accept():
    webhook = webhook_of("POST", {}, "200,409")
    assert [code for code in range(100, 600) if accepts(webhook, code)] == [200, 409]
    assert [code for code in range(100, 600) if accepts(None, code)] == list(range(200, 300))
    results = {code: launch_result_of(Reply(code, {}, b""), "k", webhook) for code in (200, 202, 409, 429, 503)}
    assert results == {
        200: LaunchResult.OK,
        202: LaunchResult.REJECTED,
        409: LaunchResult.OK,
        429: LaunchResult.RETRYABLE,
        503: LaunchResult.RETRYABLE,
    }


@pytest.mark.parametrize(
    ("method", "headers", "success"),
    [
        ("GET", {}, "200"),
        ("post", {}, "200"),
        ("DELETE", {}, "200"),
        ("CONNECT", {}, "200"),
        *(
            ("POST", {name: "x"}, "200")
            for name in (
                *("Host", "Content-Length", "Transfer-Encoding", "Connection", "Cookie", "Authorization"),
                *("webhook-signature", "Webhook-Id", "traceparent", "X-Forwarded-For", "x-real-ip", "X-Forwarded-Host"),
                *(
                    "X-HTTP-Method-Override",
                    "X-Original-URL",
                    "X-Rewrite-URL",
                    "X-",
                    "X-a b",
                    "X-a:",
                    "X-ä",
                    "X-a\r\nHost",
                ),
                *(
                    "X-Client-IP",
                    "X-Cluster-Client-IP",
                    "X-Remote-User",
                    "X-Host",
                    "X-Envoy-Original-Path",
                    "X-SSL-Client-DN",
                ),
                *("X-Accel-Redirect", "X-Sendfile", "X-Auth-Request-User", "X-MS-CLIENT-PRINCIPAL", "X-AppEngine-Cron"),
                *("X-Goog-IAP-JWT-Assertion", "X-Amzn-Oidc-Data", "X-WebAuth-User", "X-Authenticated-User"),
                *("", "X-" + "a" * 80),
            )
        ),
        *(("POST", {"X-A": value}, "200") for value in ("a\r\nHost: b", "a\n", "a\0", " a", "a ", "ä", "x" * 1_025)),
        ("POST", {f"X-{n}": "" for n in range(17)}, "200"),
        ("POST", {"X-A": "1", "x-a": "2"}, "200"),
        *(("POST", {}, codes) for codes in ("", "2xx", "199", "600", "300-200", "200-", "200,,201", "100-199")),
    ],
)
def test_what_could_change_a_request_otherwise_is_refused(method, headers, success):
    with pytest.raises(InvalidInput) as caught:
        webhook_of(method, headers, success)
    assert caught.value.details["field"].startswith("webhook.")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["X-Client-Id", "X-Hostname", "X-Url-Version", "X-Remote-Job", "X-Api-Key", "x-team"])
def test_header_that_only_the_receiver_reads_is_allowed(name):
    assert webhook_of("POST", {name: "1"}, "200-299").headers == ((name, "1"),)


def test_default_options_are_no_options():
    assert webhook_of("POST", {}, "200-299") is None
