"""Real HTTP: the service under uvicorn on a socket of its own, a client that sees everything, and a receiver."""

import asyncio
import http.client
import json
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kron.apps.service.app import make_app
from kron.apps.service.config import Config
from kron.apps.service.server import server_of

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU="
REPORT = "whsec_" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
NDJSON = {"Content_Type": "application/x-ndjson"}
LOOPBACK = ("127.0.0.0/8",)


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass
class Service:
    """A service that is running; calls go over the wire."""

    port: int
    app: object
    token: str = ""

    def call(self, method, path, body=None, **headers):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content_Type", "application/json")
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {self.token}"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def get(self, path, **headers):
        return self.call("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.call("POST", path, body, **headers)

    def put(self, path, body=None, **headers):
        return self.call("PUT", path, body, **headers)

    def bearing(self, token):
        return Service(self.port, self.app, token)


def config(**settings):
    defaults = {"auth": "none", "log_events": False, "run_worker": False, "webhook_secret": SECRET}
    return Config(**{**defaults, "webhook_allow_plain_http": True, "webhook_allowed_networks": LOOPBACK, **settings})


@contextmanager
def serving(app=None, **settings):
    """A service in a thread with a loop of its own; it is told to stop, and waited for."""
    app = app or make_app(config(**settings))
    server = server_of(app, config(listen=settings.get("listen", "127.0.0.1:0")))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive(), 20)
    assert server.started, "the service did not start"
    try:
        yield Service(server.servers[0].sockets[0].getsockname()[1], app)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


@dataclass
class Receiver:
    """A receiver of webhooks, which remembers what came, and answers as it is told."""

    port: int = 0
    seen: list = field(default_factory=list)
    answer: object = None  # (request) -> (status, headers, body)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def receiving(answer=None):
    receiver = Receiver(answer=answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, headers, text = receiver.answer(len(receiver.seen)) if receiver.answer else (204, {}, b"")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_PUT = do_PATCH = do_POST  # noqa: N815  names of the standard library

        def log_message(self, *words):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # with Python's 5, who comes sixth is asked to come again after a second, or three

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def workflow(**more):
    """A body of the document's upsert."""
    body = {"schedule_id": "s1", "workflow_id": "wf", "version": 3, "user_id": "u1"}
    return {**body, "cron_expr": "*/15 * * * *", "timezone": "Europe/Berlin", **more}
