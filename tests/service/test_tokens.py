"""Who may come in: good tokens of three kinds, and forged ones of every kind, all with one answer."""

import asyncio
import json
import socket
import time

import pytest

from kron.apps.service.auth.keys import Keys, read_keys
from kron.errors import KronError
from tests.service.http import REPORT, serving
from tests.service.tokens import KEYS, claims, forged, jwks, public, raw, settings, token

FORGED = forged()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(**settings(tmp_path_factory.mktemp("keys"))) as service:
        yield service


@pytest.mark.req("SVC-SEC-AUTH")
def test_without_a_token_nothing_is_answered_but_health(guarded):
    for method, path in (
        ("GET", "/schedules/x"),
        ("POST", "/schedules/upsert"),
        ("GET", "/v1/schedules"),
        ("GET", "/metrics"),
    ):
        reply = guarded.call(method, path)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert guarded.get("/healthz").status == 200


@pytest.mark.req("SVC-SEC-AUTH")
@pytest.mark.parametrize("algorithm", KEYS)
def test_a_good_token_of_each_kind_is_let_in(guarded, algorithm):
    assert guarded.bearing(token(algorithm=algorithm)).get("/v1/schedules").status == 200
    for several in (["kron"], ["other", "kron"], ["kron", "other"]):
        assert guarded.bearing(token(algorithm=algorithm, aud=several)).get("/v1/schedules").status == 200
    assert guarded.bearing(token(algorithm=algorithm, header={"typ": "at+jwt"})).get("/v1/schedules").status == 200


REASONS = {
    "algorithm",
    "audience",
    "expired",
    "issuer",
    "lifetime",
    "malformed",
    "not_yet_valid",
    "signature",
    "tenant",
    "unknown_key",
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_token_is_refused_with_the_class_of_reason(guarded, name):
    reply = guarded.call("GET", "/v1/schedules", Authorization=f"Bearer {FORGED[name]}")
    assert reply.status in (401, 400, 431), name  # the server itself refuses what is no header
    if reply.status == 401:
        assert reply.json["reason"] in REASONS, name
        assert reply.headers["www-authenticate"].startswith('Bearer error="invalid_token", error_description="')
        assert not any(part in reply.body.decode() for part in FORGED[name].split(".") if len(part) > 20)


def test_other_ways_to_say_it_are_refused(guarded):
    good = token()
    for said in (good, f"Basic {good}", "Bearer", "Bearer ", f"Bearer  {good}", f"Bearer {good} {good}"):
        assert guarded.call("GET", "/v1/schedules", Authorization=said).status == 401, said[:20]
    assert guarded.get(f"/v1/schedules?access_token={good}").status == 401
    with socket.create_connection(("127.0.0.1", guarded.port)) as wire:
        wire.sendall(
            f"GET /v1/schedules HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {good}\r\n".encode()
            + b"Authorization: x\r\n\r\n"
        )
        assert b" 401 " in wire.recv(200)


def test_the_issuer_turns_its_keys_and_unknown_ones_cost_little(tmp_path):
    path = jwks(tmp_path, ["EdDSA"])

    class Slow:
        now = 0.0

        def monotonic(self):
            return self.now

    async def script():
        timer, reads = Slow(), 0
        keys = Keys(path, timer)
        refresh = keys._refresh

        async def counted():
            nonlocal reads
            reads += 1
            await refresh()

        keys._refresh = counted
        assert not keys.ready
        assert (await keys.find("k-EdDSA")).algorithm == "EdDSA"
        for n in range(1000):
            assert await keys.find(f"unknown-{n}") is None
        assert reads == 1
        jwks(tmp_path, ["ES256"])
        timer.now = 31.0
        assert (await keys.find("k-ES256")).algorithm == "ES256"
        assert await keys.find("k-EdDSA") is None
        (tmp_path / "jwks.json").write_text("no more")
        timer.now = 3600.0
        assert await keys.find("k-ES256") is not None  # the old ones serve
        with pytest.raises(KronError, match="KEYS"):  # it may be a new one
            await keys.find("k-EdDSA")
        timer.now = 90_000.0
        with pytest.raises(KronError, match="KEYS"):  # but not for ever; and then it is not the token that is wrong
            await keys.find("k-ES256")
        assert not keys.ready

    asyncio.run(script())


def test_of_the_keys_only_public_ones_of_our_kinds_are_taken():
    good = public("RS256", KEYS["RS256"])
    bad = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "s"},
        {**good, "kid": "e", "use": "enc"},
        {**good, "kid": "a", "alg": "RS512"},
        {**good, "kid": None},
        {**good, "kid": "w", "n": "AQAB"},
        {"kty": "EC", "crv": "secp256k1", "kid": "k", "x": "AA", "y": "AA"},
        "nothing",
        {},
    ]
    assert set(read_keys(json.dumps({"keys": [*bad, good]}).encode())) == {"k-RS256"}


def test_a_token_for_one_run_is_for_that_run_and_for_a_while(tmp_path):
    from tests.service.http import receiving, until

    with (
        receiving() as receiver,
        serving(
            **settings(tmp_path), run_worker=True, tick_ms=50, public_url="http://kron.example", report_secret=REPORT
        ) as service,
    ):
        admin = service.bearing(token())
        body = {"schedule": "* * * * * *", "target": receiver.url, "overlap_policy": "allow", "completion": "reported"}
        admin.put("/v1/schedules/job", body)
        until(lambda: len(receiver.seen) > 1)
        one, other = (json.loads(body)["data"] for _, _, body in receiver.seen[:2])
        until(lambda: admin.get(f"/v1/runs/{one['key']}").json["state"] == "enqueued")
        held = service.bearing(one["report"]["token"])
        path = f"/v1/runs/{one['key']}/report"
        assert held.post(path, {"status": "started"}).json == {"accepted": True, "state": "started"}
        assert held.post(f"/v1/runs/{other['key']}/report", {"status": "failed"}).status == 401
        assert held.get(f"/v1/runs/{one['key']}").status == 403
        for changed in (
            one["report"]["token"][:-1] + "0",
            one["report"]["token"].replace("acme", "beta"),
            "kr~1~acme~00",
        ):
            if changed != one["report"]["token"]:
                assert service.bearing(changed).post(path, {"status": "failed"}).status == 401
        assert held.post(path, {"status": "success"}).json == {"accepted": True, "state": "success"}


def test_forged_tokens_are_many_and_good_ones_are_good_only_as_they_are():
    assert len(FORGED) >= 60
    assert raw({"alg": "none"}, claims(), b"").count(".") == 2
    assert time.time() > 0
