"""Tokens for reports: what a receiver knows lets it report of its own run, and of no other."""

import hmac
import json
import time
from base64 import b64decode
from hashlib import sha256

import pytest

from kron import KronError
from kron.apps.service.config_reader import read_config
from kron.launchers.signature import Secrets
from tests.service.http import REPORT, SECRET, receiving, serving, until
from tests.service.test_events import Listener, read
from tests.service.tokens import settings, token

KNOWN = {"public_url": "http://kron.example", "report_secret": REPORT, "run_worker": True, "tick_ms": 50}


def forgeries(secret, tenant, key):
    """Tokens made of what a receiver knows: its webhook secret, in every way that Kron derives keys."""
    root, end = b64decode(secret.removeprefix("whsec_")), int(time.time()) + 1000
    keys = [root, *(hmac.digest(root, b"kron purpose\n" + purpose, sha256) for purpose in (b"report", b"reports"))]
    keys.append(hmac.digest(root, b"kron tenant\n" + tenant.encode(), sha256))
    keys += [Secrets(secret).derived("report")[0]]
    for each in keys:
        mac = hmac.digest(each, f"{tenant}\n{key}\n{end}".encode(), sha256).hex()
        yield f"kr~{end}~{tenant}~{mac}"


@pytest.mark.parametrize("tenant", ["", "acme"])
def test_webhook_secret_forges_no_report(tmp_path, tenant):
    """A receiver has the secret that webhooks are signed with; keys of runs can be computed by anyone."""
    known = settings(tmp_path, tenant_claim="tenant" if tenant else "")
    with receiving() as receiver, serving(**known, **KNOWN) as service:
        admin = service.bearing(token("acme"))
        admin.put("/v1/schedules/job", {"schedule": "* * * * * *", "target": receiver.url, "overlap_policy": "allow"})
        data = json.loads(until(lambda: receiver.seen)[0][2])["data"]
        secrets = [SECRET, *admin.get("/v1/webhook-secrets").json["secrets"]]
        path = f"/v1/runs/{data['key']}/report"
        for forged in (each for secret in secrets for each in forgeries(secret, tenant, data["key"])):
            reply = service.bearing(forged).post(path, {"status": "success"})
            assert (reply.status, reply.json["reason"]) == (401, "report_token")
        until(lambda: admin.get(f"/v1/runs/{data['key']}").json["state"] in ("enqueued", "success"))
        assert service.bearing(data["report"]["token"]).post(path, {"status": "started"}).status == 200


def test_public_url_without_a_secret_of_its_own_is_refused():
    told = {"auth": "none", "public_url": "http://kron.example", "webhook_secret": SECRET}
    for report in ("", SECRET, f"{REPORT} {SECRET}"):
        with pytest.raises(KronError, match="REPORT_SECRET"):
            read_config({}, {**told, "report_secret": report})
    assert read_config({}, {**told, "report_secret": REPORT}).report_secret == REPORT


def test_run_that_ends_by_a_report_is_told(tmp_path):
    """The process that hears the report logs it, counts it and tells who listens, also without a worker."""
    with receiving() as receiver, serving(**KNOWN, store="memory:") as service:
        told = {"schedule": "0 0 1 1 *", "target": receiver.url, "completion": "reported"}
        ear = Listener(service)
        service.put("/v1/schedules/job", told)
        key = service.post("/v1/schedules/job/trigger").json["key"]
        until(lambda: service.get(f"/v1/runs/{key}").json["state"] == "enqueued")
        assert service.post(f"/v1/runs/{key}/report", {"status": "started"}).json["accepted"]
        assert service.post(f"/v1/runs/{key}/report", {"status": "failed"}).json["accepted"]
        until(lambda: "run_finished" in ear.text)
        ended = [data for _, name, data in read(ear.text) if name == "run_finished"]
        assert [(data["key"], data["state"]) for data in ended] == [(key, "failed")]
