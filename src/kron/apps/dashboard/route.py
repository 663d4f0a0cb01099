"""Routes of the dashboard: each names the role that it needs, and no route is reached without the check."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kron.apps.browser_request import nul_error
from kron.apps.dashboard.access import Role
from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.form import Fields, read_form
from kron.apps.dashboard.view import View
from kron.apps.http_status import http_status
from kron.engine.tenant_scope import ALL_TENANTS, set_tenant_scope
from kron.errors import AccessDenied, KronError, NotFound, StoreUnavailable, error_of

ANSWER_SECONDS = 3.0  # a page that takes longer says that the store does not answer
log = logging.getLogger("kron.dashboard")
_Value = TypeVar("_Value")
Page = Callable[[View], Awaitable[Response]]
Action = Callable[[View, Fields], Awaitable[Response]]


class Guarded:
    """Page or action behind its check, as an ASGI application.

    Attributes:
        role: Role that the request needs; None: any viewer, and the page reads no store.
        is_public: Whether the page is open without a session where people sign in. It has time limits of its own.
    """

    def __init__(
        self, role: Role | None, page: Page | None = None, action: Action | None = None, *, is_public: bool = False
    ) -> None:
        self.role, self.page, self.action, self.is_public = role, page, action, is_public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        request = Request(scope, receive)
        context: DashboardContext = request.app.state.context
        view = View(request, context, None, int(time.time() * 1000))
        try:
            response = await self._respond(view)
        except KronError as error:
            response = _error_page(view, error, http_status(error))
        except Exception:
            log.exception("a page of the dashboard failed: %s", request.url.path)
            internal = error_of("INTERNAL", "this page failed", hint="the log of the process has the reason")
            response = _error_page(view, internal, 500)
        await response(scope, receive, send)

    async def _respond(self, view: View) -> Response:
        if error := nul_error(view.request.scope):
            raise error
        if self.action is not None:
            return await self._act(view, self.action)
        await self._admit(view)
        if self.page is None:
            raise NotFound("NOT_FOUND", "there is no such page", hint="use the links of the pages")
        return await (self.page(view) if self.is_public else _answered(self.page(view)))

    async def _act(self, view: View, act: Action) -> Response:
        """Handle a form. What changes the store, or tries to, is recorded."""
        recorder = view.context.recorder if self.role is not None else None
        try:
            await self._admit(view)
            fields = await read_form(view.request, view.viewer.session if view.viewer else "")
        except KronError as error:
            if recorder:
                recorder.refused(view.request, view.viewer, http_status(error))
            raise
        if recorder is None:
            return await act(view, fields)
        return await recorder.acted(view.request, view.viewer, fields, lambda: act(view, fields))

    async def _admit(self, view: View) -> None:
        if self.role is not None or (view.context.has_login and not self.is_public):
            await self._check_viewer(view)
        elif view.context.has_login:
            view.viewer = await view.context.access(view.request)
        if self.role is not None:
            view.now = await _answered(view.store.now())

    async def _check_viewer(self, view: View) -> None:
        """Check that the role suffices and the tenant is one of the viewer's own, and set the viewer."""
        viewer = await view.context.access(view.request)
        if viewer is None:
            raise signed_out_error() if view.context.has_login else _closed_error()
        view.viewer = viewer
        if viewer.tenants is not None and view.tenant not in viewer.tenants:
            view.tenant = viewer.tenants[0] if viewer.tenants else ""  # the links of the page lead to an own tenant
            hint = "choose one of your tenants"
            raise NotFound("NOT_FOUND", "there is no such page", hint=hint, details={"tenants": list(viewer.tenants)})
        if viewer.tenants is None and view.tenant:
            raise NotFound("NOT_FOUND", "there is no such page", hint="this store has no tenants")
        if self.role is Role.OPERATOR and not viewer.may_operate:
            raise AccessDenied("FORBIDDEN", "you may look, and not change anything", hint="ask an operator")
        set_tenant_scope(view.prefix or ALL_TENANTS)


def signed_out_error() -> AccessDenied:
    """Return the error for a person who has not signed in, or whose session has ended."""
    return AccessDenied("UNAUTHENTICATED", "you are not signed in", hint="a session ends 8 hours after the login")


def _closed_error() -> AccessDenied:
    hint = "open it on the machine where it runs, or sign in"
    return AccessDenied("UNAUTHENTICATED", "this dashboard is not open to you", hint=hint)


def _error_page(view: View, error: KronError, status: int) -> Response:
    return view.render("error.html", status, error=error, status_code=status)


async def _answered(question: Awaitable[_Value]) -> _Value:
    """Return the answer of a store to a page, which only reads.

    Raises:
        StoreUnavailable: The store did not answer in time.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await question
    except TimeoutError:
        message, hint = "the store did not answer in time", "runs that fall due meanwhile are recorded when it is back"
        raise StoreUnavailable("STORE_TIMEOUT", message, hint=hint) from None


def page(path: str, handler: Page, *, role: Role | None = Role.VIEWER, is_public: bool = False) -> Route:
    """Return the route of a page."""
    return Route(path, Guarded(role, page=handler, is_public=is_public), methods=["GET"])


def action(path: str, handler: Action, *, role: Role | None = Role.OPERATOR, is_public: bool = False) -> Route:
    """Return the route of a form. Only operators may send a form that changes something in the store."""
    return Route(path, Guarded(role, action=handler, is_public=is_public), methods=["POST"])
