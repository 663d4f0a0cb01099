"""View: one request of one viewer, with all that a page needs to answer it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import unquote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from kron.apps.dashboard.access import Viewer
from kron.apps.dashboard.command_line import CommandLine
from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.form import SECRET_COOKIE, new_request, new_secret, token_of
from kron.apps.dashboard.links import Links
from kron.apps.dashboard.template import environment
from kron.apps.dashboard.time_text import Form, local_text, time_element, with_times
from kron.engine.overview import Overview
from kron.engine.registrar import Registrar
from kron.engine.store import Store
from kron.errors import InvalidInput, InvalidSetting
from kron.rules.pause import Actor
from kron.timing.zone import zone

PANEL_SECONDS = 0.3  # a panel that takes longer shows a dash, and the page comes without it
MAX_NOTE_LENGTH = 1_000  # characters, as the HTTP API accepts
ZONE_COOKIE = "kron_zone"
_Value = TypeVar("_Value")


class View(Links):
    """One request of one viewer.

    Attributes:
        context: Parts that all pages share.
        viewer: The viewer; None on the page that needs no login.
        now: Time of the page in milliseconds, by the clock of the store.
        position: Position of the event ring before the page reads the store; None if this process does not follow it.
    """

    def __init__(self, request: Request, context: DashboardContext, viewer: Viewer | None, now: int) -> None:
        super().__init__(request)
        self.context, self.viewer, self.now = context, viewer, now
        mirror = context.mirror
        self.position = mirror.position if mirror is not None and mirror.is_current else None

    @property
    def store(self) -> Store:
        """The store."""
        if self.context.store is None:
            raise InvalidSetting("MISSING_PART", "this dashboard has no store", hint="open it with `kron ui --store`")
        return self.context.store

    @property
    def overview(self) -> Overview:
        """Questions about many schedules."""
        return self.store.overview

    @property
    def registrar(self) -> Registrar:
        """The registrar."""
        if self.context.registrar is None:
            raise InvalidSetting("MISSING_PART", "this dashboard has no store", hint="open it with `kron ui --store`")
        return self.context.registrar

    @property
    def may_operate(self) -> bool:
        """Whether the viewer may change something."""
        return self.viewer is not None and self.viewer.may_operate

    def actor(self, note: str) -> Actor:
        """Return the viewer as the actor of a recorded action.

        Raises:
            InvalidInput: The reason is too long.
        """
        if len(note) > MAX_NOTE_LENGTH:
            message = f"the reason has {len(note):,} characters"
            raise InvalidInput("BAD_FIELD", message, hint=f"use up to {MAX_NOTE_LENGTH:,} characters")
        return Actor(self.viewer.name if self.viewer else "", note)

    @cached_property
    def zone(self) -> str:
        """Name of the viewer's zone, from a cookie that the footer sets; otherwise UTC."""
        name = unquote(self.request.cookies.get(ZONE_COOKIE, ""))  # the script of the page encodes it
        try:
            return zone(name or "UTC").name
        except LookupError:
            return "UTC"

    def time(self, at: int, form: Form = Form.NEAR, schedule_zone: str = "") -> Markup:
        """Return a time (milliseconds) as an element of the page."""
        return time_element(at, self.now, self.zone, form, schedule_zone)

    def said(self, text: str, schedule_zone: str = "") -> Markup:
        """Return a sentence of Kron with its instants as elements of the page, in the viewer's zone."""
        return with_times(text, lambda at: self.time(at, Form.NEAR, schedule_zone))

    def text(self, at: int, form: Form = Form.NEAR) -> str:
        """Return a time (milliseconds) in words, for a link: an element for a time cannot be in a link."""
        return local_text(at, self.now, zone(self.zone), form)

    @cached_property
    def commands(self) -> CommandLine:
        """Commands that do the same as forms."""
        return CommandLine(self.context, self.request.url.port)

    def spend(self, starts: int) -> None:
        """Count runs that the viewer requests.

        Raises:
            InvalidInput: These are more than the tenant may request in a minute.
            QuotaExceeded: The tenant has requested too many.
        """
        if self.context.quota:
            self.context.quota.spend(self.tenant, starts)

    async def panel(self, question: Awaitable[_Value]) -> _Value | None:
        """Return the answer to a question, or None if it takes too long: its panel shows a dash then."""
        try:
            async with asyncio.timeout(PANEL_SECONDS):
                return await question
        except TimeoutError:
            return None

    def render(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        secret = self.request.cookies.get(SECRET_COOKIE, "")
        form_secret = secret or new_secret()
        token = token_of(form_secret, self.viewer.session if self.viewer else "")
        text = (
            environment().get_template(template).render(view=self, form_token=token, new_request=new_request, **values)
        )
        response = HTMLResponse(text, status)
        if not secret:
            is_secure = self.context.is_secure or self.request.url.scheme == "https"
            response.set_cookie(SECRET_COOKIE, form_secret, secure=is_secure, httponly=True, samesite="lax")
        return response

    def redirect(self, address: str) -> Response:
        """Return the answer to a form: the browser opens another page, so that a reload sends nothing again."""
        return RedirectResponse(address, 303)
