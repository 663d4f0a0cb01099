"""TLS: of the service, of its clients, of its targets and of the issuer's keys."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import threading
from base64 import urlsafe_b64encode
from hashlib import sha256
from http.client import HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kron.apps.service.auth.keys import Keys
from kron.engine.clock import SystemTimer
from kron.errors import KronError
from kron.launchers.target import check_url
from kron.rules.launch_result import LaunchResult
from tests.service.certificates import Authority
from tests.service.http import until
from tests.service.test_config import free_port
from tests.service.test_webhooks import launch, send
from tests.service.tokens import jwks, settings, token


def test_a_certificate_must_have_a_name_of_the_list_and_a_bound_token_its_certificate(tmp_path):
    ours = Authority(tmp_path, "ours")
    certificate, key = ours.issue("server")
    port, names = free_port(), "spiffe://example.org/deployer, ci.example.org"
    said = settings(tmp_path, tls_certificate=certificate, tls_key=key, tls_client_ca=ours.path, run_worker="false")
    env = {**os.environ, **{f"KRON_{name.upper()}": str(value) for name, value in said.items()}}
    command = [str(Path(sys.executable).parent / "kron"), "serve", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        [*command, "--set", f"tls_client_allowed_names={names}"], env=env, stderr=subprocess.DEVNULL
    )

    def status(shown, bearer, path="/v1/schedules"):
        context = ssl.create_default_context(cafile=ours.path)
        context.load_cert_chain(*shown)
        connection = HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {bearer}"})
            return connection.getresponse().status
        except (OSError, HTTPException):
            return "refused"
        finally:
            connection.close()

    def thumbprint(files):
        return urlsafe_b64encode(sha256(ssl.PEM_cert_to_DER_cert(files[0].read_text())).digest()).decode().rstrip("=")

    try:
        deployer = ours.issue("deployer", more=["spiffe://example.org/deployer"])
        ci = ours.issue("ci", more=["ci.example.org"])
        until(lambda: status(deployer, token()) == 200, 30)
        assert status(ci, token()) == 200
        for names in ((), ("example.org",), ("x.ci.example.org",), ("spiffe://example.org/deployer2",)):
            assert status(ours.issue("other", more=names), token(), "/healthz") == "refused"
        bound = token(cnf={"x5t#S256": thumbprint(deployer)})
        assert status(deployer, bound) == 200
        assert status(ci, bound) == 401  # it was stolen
        for odd in ({}, {"x5t#S256": ""}, {"jkt": "x"}, {"x5t#S256": thumbprint(deployer), "jkt": "x"}, "x", None):
            assert status(deployer, token(cnf=odd)) == 401
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_only_who_shows_a_certificate_of_the_authority_is_spoken_to(tmp_path):
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    certificate, key = ours.issue("server")
    port = free_port()
    env = {**os.environ, "KRON_AUTH": "none", "KRON_RUN_WORKER": "false", "KRON_TLS_CLIENT_CA": str(ours.path)}
    env |= {"KRON_TLS_CERTIFICATE": str(certificate), "KRON_TLS_KEY": str(key)}
    command = [str(Path(sys.executable).parent / "kron"), "serve", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)

    def status(*shown):
        context = ssl.create_default_context(cafile=ours.path)
        if shown:
            context.load_cert_chain(*shown)
        connection = HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status
        except ssl.SSLError:
            return "refused"
        except OSError as error:
            return "refused" if isinstance(error, ConnectionResetError) else None
        finally:
            connection.close()

    try:
        good = ours.issue("client")
        until(lambda: status(*good) == 200, 30)
        assert status() == "refused"
        assert status(*other.issue("stranger")) == "refused"
        assert status(*ours.issue("expired", days=-1)) == "refused"
        assert status(*good) == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


class Answering(BaseHTTPRequestHandler):
    content, status, seen = b"", 200, None

    def do_GET(self):
        type(self).seen = (type(self).seen or 0) + 1
        self.send_response(self.status)
        self.send_header("Location", "https://127.0.0.1:1/")
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *words):
        pass


@pytest.fixture
def secure(tmp_path):
    """A server with a certificate of an authority that the tests trust."""
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("server"))
    handler = type("Handler", (Answering,), {})
    server = HTTPServer(("127.0.0.1", 0), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    handler.port, handler.authority = server.server_address[1], authority
    yield handler
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_webhook_goes_to_a_name_by_the_address_that_was_vetted(secure):
    """The certificate is checked for the name, though the address is what is called."""

    async def here(host, port):
        return ["127.0.0.1"]

    trusting = ssl.create_default_context(cafile=secure.authority.path)
    good = check_url(f"https://localhost:{secure.port}/hook")
    assert send(launch(good), resolve=here, tls=trusting) is LaunchResult.OK
    assert send(launch(f"https://other.example:{secure.port}/"), resolve=here, tls=trusting) is LaunchResult.RETRYABLE
    assert send(launch(good), resolve=here) is LaunchResult.RETRYABLE  # nobody vouches for it
    assert secure.seen == 1


def test_the_keys_of_the_issuer_come_over_tls_and_from_nowhere_else(secure, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(secure.authority.path))
    secure.content = Path(jwks(tmp_path)).read_bytes()

    async def found():
        try:
            return await Keys(f"https://localhost:{secure.port}/jwks", SystemTimer()).find("k-EdDSA") is not None
        except KronError as error:
            assert error.code == "KEYS"
            return False

    assert asyncio.run(found())
    secure.status = 302
    assert not asyncio.run(found())
    secure.status = 200
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path, "another").path))
    assert not asyncio.run(found())
