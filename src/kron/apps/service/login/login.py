"""Login of a service: its provider, its sessions and its pages."""

from __future__ import annotations

from typing import NamedTuple

from kron.apps.service.config import Config
from kron.apps.service.login.code_flow import CodeFlow
from kron.apps.service.login.pages import LoginPages
from kron.apps.service.login.provider import Provider
from kron.apps.service.login.sealed_cookie import SealedCookie
from kron.apps.service.login.session import Sessions
from kron.engine.clock import SystemClock, SystemTimer
from kron.engine.events import Event, Sink
from kron.launchers.signature import Secrets

SESSION_COOKIE, PENDING_COOKIE = "kron", "kron-login"


class Login(NamedTuple):
    """Parts of a login.

    Attributes:
        is_secure: Whether browsers reach the dashboard with TLS.
    """

    provider: Provider
    sessions: Sessions
    pages: LoginPages
    is_secure: bool


def make_login(config: Config, sink: Sink) -> Login | None:
    """Return the login of a configuration; None if the dashboard is off, or needs none."""
    if not config.has_dashboard or config.auth == "none" or not config.ui_issuer:
        return None
    clock, secrets = SystemClock(), Secrets(config.ui_session_key)
    is_secure = config.ui_url.startswith("https://")

    def emit_failed(reason: str) -> None:
        sink(Event("keys_failed", int(clock.now() * 1000), {"source": config.ui_issuer, "error": reason}))

    provider = Provider(config.ui_issuer, SystemTimer(), emit_failed)
    sessions = Sessions(SealedCookie(SESSION_COOKIE, secrets, is_secure=is_secure), clock)
    pending = SealedCookie(PENDING_COOKIE, secrets, is_secure=is_secure)
    pages = LoginPages(config, CodeFlow(config, provider, clock), sessions, pending)
    return Login(provider, sessions, pages, is_secure)
