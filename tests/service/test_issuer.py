"""The issuer's keys: an issuer that hangs, drips or is away costs seconds, and no valid token its validity."""

import json
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from kron import KronError
from kron.apps.service.app import make_app
from kron.apps.service.auth.fetch import MAX_DOCUMENT_BYTES
from tests.service.certificates import Authority
from tests.service.http import config, serving, until
from tests.service.tokens import claims, jwks, resigned, settings, token


@contextmanager
def issuing(tmp_path, monkeypatch):
    """An issuer over TLS whose behavior can be changed: `answer`, `hang`, `drip`, `drip head`, `huge`."""
    authority = Authority(tmp_path, "issuer")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("localhost"))
    listener, stop = socket.create_server(("127.0.0.1", 0)), threading.Event()
    issuer = type("Issuer", (), {"mode": "answer", "asked": 0, "port": listener.getsockname()[1]})()
    keys = Path(jwks(tmp_path)).read_bytes()

    def serve(raw):
        try:
            with context.wrap_socket(raw, server_side=True) as wire:
                wire.recv(4096)
                issuer.asked += 1
                body = keys if issuer.mode != "huge" else b'{"keys": [' + b" " * (MAX_DOCUMENT_BYTES + 1) + b"]}"
                head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
                if issuer.mode == "hang":
                    stop.wait(30)
                elif issuer.mode.startswith("drip"):
                    wire.sendall(b"" if issuer.mode == "drip head" else head)
                    for byte in head + body:
                        wire.sendall(bytes([byte]))
                        stop.wait(0.5)
                else:
                    wire.sendall(head + body)
        except OSError:
            pass

    def accept():
        while not stop.is_set():
            try:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield issuer
    finally:
        stop.set()
        listener.close()


@pytest.mark.parametrize("mode", ["hang", "drip", "drip head", "huge"])
def test_issuer_that_gives_no_keys_is_answered_503(tmp_path, monkeypatch, mode):
    with issuing(tmp_path, monkeypatch) as issuer:
        issuer.mode = mode
        with serving(**settings(tmp_path, jwks=f"https://localhost:{issuer.port}/jwks")) as service:
            began = time.monotonic()
            reply = service.bearing(token()).get("/v1/schedules")
            assert time.monotonic() - began < 6
            assert (reply.status, reply.json["code"]) == (503, "KEYS")
            assert service.get("/readyz").status == 503
            assert service.get("/healthz").status == 200
            assert service.get("/v1/schedules").status == 401  # no token at all: no keys are needed to know that
            issuer.mode = "answer"
            until(lambda: service.bearing(token()).get("/v1/schedules").status == 200, 15)
            assert service.get("/readyz").status == 200


def test_known_keys_answer_at_once_while_the_issuer_hangs(tmp_path, monkeypatch):
    with (
        issuing(tmp_path, monkeypatch) as issuer,
        serving(**settings(tmp_path, jwks=f"https://localhost:{issuer.port}/jwks")) as service,
    ):
        until(lambda: service.bearing(token()).get("/v1/schedules").status == 200)
        issuer.mode = "hang"
        keys = service.app.state.parts.authenticator.keys
        keys.requested_at -= 1_000  # they are old
        began = time.monotonic()
        assert service.bearing(token()).get("/v1/schedules").status == 200
        assert time.monotonic() - began < 1
        unknown = service.bearing(token(header={"kid": "k-new"})).get("/v1/schedules")
        assert unknown.status == 503  # it may be a new key: nobody can say that it is wrong
        assert time.monotonic() - began < 6


@pytest.mark.parametrize("content", [None, "", "no JSON", "[]", '{"keys": []}', '{"keys": [{"kty": "oct"}]}'])
def test_file_without_keys_refuses_to_start(tmp_path, content):
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(KronError, match="JWKS"):
        make_app(config(**settings(tmp_path, jwks=str(path))))


def test_times_have_30_seconds_of_leeway(tmp_path):
    now = int(time.time())
    with serving(**settings(tmp_path)) as service:
        for more in ({"iat": now + 20}, {"nbf": now + 20}, {"exp": now - 10, "iat": now - 100}):
            assert service.bearing(token(**more)).get("/v1/schedules").status == 200, more
        for more, reason in (
            ({"iat": now + 60}, "not_yet_valid"),
            ({"nbf": now + 60}, "not_yet_valid"),
            ({"exp": now - 40, "iat": now - 100}, "expired"),
        ):
            reply = service.bearing(token(**more)).get("/v1/schedules")
            assert (reply.status, reply.json["reason"]) == (401, reason), more


def test_refusal_says_its_reason_and_the_log_too(tmp_path, capfd):
    header = {"alg": "EdDSA", "typ": "JWT", "kid": "k-EdDSA"}
    with serving(**settings(tmp_path), log_events=True, log_format="json") as service:
        for sent, reason in (
            (token(aud="other"), "audience"),
            (token(iss="https://other"), "issuer"),
            (token(tenant="*"), "tenant"),
            (token(header={"kid": "k-none"}), "unknown_key"),
            (token()[:-8] + "AAAAAAAA", "signature"),
            ("abc", "malformed"),
            (resigned(header, claims(exp="soon")), "malformed"),
            (token(exp=int(time.time()) + 10**6), "lifetime"),
            (token(cnf={"x5t#S256": ""}), "certificate"),
            (token(cnf={"x5t#S256": "abc"}), "certificate"),
            (token(cnf={}), "certificate"),
            (token(cnf=None), "certificate"),
            ("kr~1~acme~00", "report_token"),
        ):
            reply = service.bearing(sent).get("/v1/schedules")
            assert (reply.status, reply.json["reason"]) == (401, reason)
            assert 'error="invalid_token"' in reply.headers["www-authenticate"]
            (logged,) = until(lambda: _refusals(capfd))
            assert (logged["reason"], logged["address"]) == (reason, "127.0.0.1")
            assert sent not in json.dumps(logged)
        reply = service.get("/v1/schedules")
        assert (reply.json["reason"], reply.headers["www-authenticate"]) == ("missing", "Bearer")


def test_refusals_do_not_fill_the_log(tmp_path, capfd):
    with serving(**settings(tmp_path), log_events=True, log_format="json") as service:
        for _ in range(100):
            service.get("/v1/schedules")
    assert len(_refusals(capfd)) == 30


def _refusals(capfd):
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == "caller_refused"]
