"""A service without tokens, attacked through the browser of somebody on the same machine."""

import json

import pytest

from tests.service.http import NDJSON, serving

LINE = json.dumps({"id": "planted", "schedule": "0 3 * * *", "target": "http://127.0.0.1:9/exfil"}).encode() + b"\n"
DEFINITION = {"schedule": "0 3 * * *", "target": "http://127.0.0.1:9/hook"}
EVIL = "https://evil.example"


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Type": "text/plain", "Origin": EVIL, "Sec_Fetch_Site": "cross-site"},
        {"Content_Type": "text/plain", "Origin": "null"},
        {**NDJSON, "Origin": EVIL},
        {**NDJSON, "Sec_Fetch_Site": "cross-site"},
        {**NDJSON, "Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Content_Type": "multipart/form-data; boundary=x"},
        {},
    ],
)
def test_bulk_from_a_web_page_defines_nothing(plain, headers):
    assert plain.call("POST", "/v1/schedules:bulk", LINE, **headers).status in (403, 415)
    assert plain.get("/v1/schedules/planted").status == 404


def test_trigger_by_a_form_of_another_origin_is_refused(plain):
    plain.put("/v1/schedules/form", DEFINITION)
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    assert plain.call("POST", "/v1/schedules/form/trigger", b"", Origin=EVIL, **form).status == 403
    assert plain.call("POST", "/v1/schedules/form/trigger", b"", Origin=EVIL).status == 403
    assert plain.call("POST", "/v1/schedules/form/trigger", b"", **form).status == 415
    assert plain.get("/v1/schedules/form/runs").json["runs"] == []


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "169.254.169.254", "localhost@evil", ""]
)
def test_rebound_host_reads_and_changes_nothing(plain, host):
    plain.put("/v1/schedules/rebound", DEFINITION)
    for method, path in (("GET", "/v1/schedules"), ("DELETE", "/v1/schedules/rebound"), ("GET", "/metrics")):
        assert plain.call(method, path, Host=host).status == 403
    assert plain.get("/v1/schedules/rebound").status == 200


def test_own_names_of_this_machine_are_served(plain):
    for host in ("127.0.0.1", f"127.0.0.1:{plain.port}", "localhost:1", "LOCALHOST", "[::1]:8080"):
        assert plain.call("GET", "/v1/schedules", Host=host).status == 200, host
    own = f"127.0.0.1:{plain.port}"
    assert plain.put("/v1/schedules/own", DEFINITION, Origin=f"http://{own}").status == 200
    with serving(public_url="https://kron.internal/base") as service:
        assert service.call("GET", "/v1/schedules", Host="kron.internal").status == 200


def test_webhook_secrets_without_tokens_are_not_served(plain):
    reply = plain.get("/v1/webhook-secrets")
    assert reply.status == 403
    assert b"whsec_" not in reply.body


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/jsonx", "text/json", None])
def test_body_of_another_content_type_is_answered_415(plain, kind):
    body = json.dumps(DEFINITION).encode()
    said = {} if kind is None else {"Content_Type": kind}
    reply = plain.call("PUT", "/v1/schedules/typed", body, **said)
    assert (reply.status, reply.json["code"]) == (415, "MEDIA_TYPE")


def test_json_with_a_charset_or_suffix_is_taken(plain):
    body = json.dumps(DEFINITION).encode()
    for kind in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json"):
        assert plain.call("PUT", "/v1/schedules/typed", body, Content_Type=kind).status == 200
