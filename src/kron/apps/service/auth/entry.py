"""Middleware that rejects or rewrites requests before they reach a route, independent of the caller."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from kron.apps.browser_request import host_name, is_of_another_site, nul_error
from kron.apps.service.config import Config
from kron.apps.service.problem import error_response
from kron.errors import AccessDenied

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
STREAM_PATHS = frozenset({"/v1/events"})  # endless responses, for which HEAD is not served


class Entry:
    """Rejects NUL in URLs, serves HEAD as GET without a body and, without tokens, rejects other hosts and origins."""

    def __init__(self, app: ASGIApp, config: Config) -> None:
        self.app, self.open, self.hosts = app, config.auth == "none", _hosts(config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        error = nul_error(scope) or (self._foreign_error(scope) if self.open else None)
        if error:
            await error_response(error)(scope, receive, send)
            return
        if scope["method"] == "HEAD" and scope["path"] not in STREAM_PATHS:
            scope = {**scope, "method": "GET"}  # the server itself omits the body
        await self.app(scope, receive, send)

    def _foreign_error(self, scope: Scope) -> AccessDenied | None:
        """Return an error if a request can come from a web page (CSRF, DNS rebinding). Tokens would prevent that."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self.hosts:
            hint = "use 127.0.0.1 or localhost, or configure tokens"
            return AccessDenied("FOREIGN_HOST", "the Host header names another host", hint=hint)
        if scope["method"] in SAFE_METHODS:
            return None
        if is_of_another_site(headers):
            hint = "configure tokens for calls from web pages"
            return AccessDenied("FOREIGN_ORIGIN", "the request comes from another origin", hint=hint)
        return None


def _hosts(config: Config) -> frozenset[str]:
    """Return the host names under which a service without tokens can be called."""
    own_hosts = {config.address[0].lower(), (urlsplit(config.public_url).hostname or "").lower()}
    return frozenset({"localhost", "127.0.0.1", "::1"} | own_hosts) - {""}
