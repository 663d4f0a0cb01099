"""A dashboard under uvicorn on a socket of its own, and calls that go over the wire."""

import asyncio
import http.client
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from kron.apps.dashboard.access import LoopbackAccess, Role
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.apps.redacted import redacted
from kron.apps.wiring import open_store
from kron.engine.clock import SystemTimer
from kron.engine.event_mirror import EventMirror, mirroring
from kron.engine.event_relay import EventRelay, relaying
from kron.engine.registrar import Registrar


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Site:
    """A dashboard that is running, as one browser with its cookies sees it."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def call(self, method, path, body=None, headers=()):
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()), **dict(headers)}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, body, {name: value for name, value in headers.items() if value})
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())

    def get(self, path, **headers):
        return self.call("GET", path, headers=headers)

    def send(self, path, fields=(), *, token=None, **headers):
        """Send a form as a page would: with the token of this browser, unless another is given."""
        token = self.token() if token is None else token
        body = urlencode({"form_token": token, **dict(fields)}, doseq=True)
        return self.call("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded", **headers})

    def token(self):
        return re.search(r'name="form_token" value="([^"]*)"', self.get("/").text)[1]


class Ending(uvicorn.Server):
    """A server that ends open streams, as that of `kron ui` does."""

    async def shutdown(self, sockets=None):
        state = getattr(self.config.app, "state", None)
        if hasattr(state, "mirror"):
            state.mirror.close()
        await super().shutdown(sockets)


def in_thread(work, *given):
    """Return the result of work in a thread of its own: where a browser is open, the thread has a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *given).result()


def ask(question):
    """Return the answer of a store to a question, which is a coroutine."""
    return in_thread(asyncio.run, question)


@contextmanager
def served(app):
    """Serve an ASGI application on a free port."""
    settings = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", ws="none", lifespan="auto", timeout_graceful_shutdown=1
    )
    server = Ending(settings)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 20
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    try:
        yield Site(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)


def dashboard_of(store, role=Role.OPERATOR, access=None, store_name="memory"):
    """Return the dashboard of a store, for this machine."""
    return make_dashboard(
        DashboardContext(store, Registrar(store), access or LoopbackAccess(role), store_name=store_name, is_shared=True)
    )


def watched(url, role=Role.OPERATOR, has_streams=True, access=None):
    """Return a dashboard that opens its store when it is served, and whose pages are told of changes.

    With `access`, people sign in.
    """

    @asynccontextmanager
    async def lifespan(app):
        async with open_store(url) as store:
            relay = EventRelay(store.events, SystemTimer())
            mirror = EventMirror(store.events, SystemTimer(), relay.begin)
            context = DashboardContext(
                store,
                Registrar(store, relay),
                access or LoopbackAccess(role),
                mirror=mirror,
                has_streams=has_streams,
                has_login=access is not None,
                store_name=redacted(url),
            )
            app.state.mirror = mirror
            async with relaying(relay), mirroring(mirror):
                app.router.routes[:] = [Mount("/", make_dashboard(context))]
                yield

    return Starlette(lifespan=lifespan)
