"""An identity provider that lies: it sends whatever ID token a test wants, and answers as the test tells it to."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.service.tokens import KEYS, public, token


@dataclass
class Forger:
    """What the provider says.

    Attributes:
        claims: Claims that differ from those of an honest ID token; `...` leaves a claim out.
        id_token: ID token that is sent as it is, instead of one with these claims.
        answers: Responses by path, instead of the honest ones: status and body.
        requests: Forms that the token endpoint received.
    """

    port: int = 0
    claims: dict = field(default_factory=dict)
    id_token: object = None
    answers: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)
    nonce: str = ""
    metadata: dict = field(default_factory=dict)

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.port}"

    def honest_claims(self):
        claims = {"iss": self.issuer, "aud": "kron", "sub": "eve", "email": "eve@acme.example", "nonce": self.nonce}
        return {**claims, "scope": "schedules:read", "tenant": "acme", **self.claims}

    def token(self, **more):
        return token(more.pop("tenant", "acme"), "RS256", **{**self.honest_claims(), "tenant": "acme", **more})

    def answer(self, path):
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
            document = {name: f"{self.issuer}/{last}" for name, last in names.items()}
            return 200, json.dumps({"issuer": self.issuer, **document, **self.metadata})
        if path == "/jwks":
            return 200, json.dumps({"keys": [public(name, key) for name, key in KEYS.items()]})
        if path == "/token":
            return 200, json.dumps({"id_token": self.signed() if self.id_token is None else self.id_token})
        return 404, "{}"

    def signed(self):
        claims = self.honest_claims()
        return token(claims.pop("tenant"), "RS256", **claims)


@contextmanager
def forging():
    """Yield a forger that answers while the context is active."""
    forger = Forger()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, text = forger.answer(self.path.partition("?")[0])
            body = text.encode() if isinstance(text, str) else text
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            forger.requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.do_GET()

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forger.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield forger
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
