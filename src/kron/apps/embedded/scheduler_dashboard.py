"""Dashboard of a scheduler, for the application that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kron.apps.dashboard.access import Access, Allow, LoopbackAccess, Role, Viewer, allowed_by
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.bridge import VIEWER, WebRequest, WebResponse, answered, request_of, viewer_of_scope
from kron.apps.dashboard.context import DashboardContext
from kron.apps.embedded.running import Running
from kron.apps.redacted import redacted
from kron.errors import KronError


class SchedulerDashboard:
    """Dashboard of a scheduler as an ASGI application.

    The application that mounts it decides who may see it, in its own event loop or thread. Pages are made in the event
    loop of the scheduler, to which its store belongs.
    """

    def __init__(self, find_running: Callable[[], Running], allow: Allow | None) -> None:
        self.find_running = find_running
        self.access: Access = LoopbackAccess(Role.OPERATOR) if allow is None else allowed_by(allow)
        self._made: tuple[Running, ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            return
        try:
            running = self.find_running()
            viewer = await self.access(Request(scope))
            if asyncio.get_running_loop() is running.loop:
                await self._app_of(running)({**scope, VIEWER: viewer}, receive, send)
                return
            request = await request_of(scope, receive)
            web_response = await running.run_in_loop(lambda: answered(self._app_of(running), request, viewer))
            response = Response(web_response.body, web_response.status)
            response.raw_headers[:] = [(name.encode(), value.encode("latin-1")) for name, value in web_response.headers]
        except KronError as error:
            response = PlainTextResponse(f"{error}\n", 503)
        await response(scope, receive, send)

    def answer(self, request: WebRequest, viewer: Viewer | None) -> WebResponse:
        """Return the response to a request, in a thread without an event loop."""
        try:
            running = self.find_running()
            return running.wait_for(running.run_in_loop(lambda: answered(self._app_of(running), request, viewer)))
        except KronError as error:
            return WebResponse(503, (("content-type", "text/plain; charset=utf-8"),), f"{error}\n".encode())

    def _app_of(self, running: Running) -> ASGIApp:
        """Return the pages of a running scheduler. They are made again after a restart, which opens the store again."""
        if self._made is None or self._made[0] is not running:
            registrar, name, mirror = running.registrar, redacted(running.setup.url), running.mirror
            context = DashboardContext(registrar.store, registrar, viewer_of_scope, name, running.shared, mirror)
            self._made = running, make_dashboard(context)
        return self._made[1]
