"""Identity provider: its endpoints and keys, read in the background and never while a page waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from kron.apps.service.auth.fetch import fetch
from kron.apps.service.auth.keys import REFRESH_SECONDS, RETRY_SECONDS, Keys
from kron.apps.service.login_check import is_protected_url
from kron.engine.clock import Timer
from kron.errors import Unavailable

DISCOVERY_PATH = "/.well-known/openid-configuration"
MAX_REASON_LENGTH = 300


class Endpoints(NamedTuple):
    """Addresses that a provider publishes.

    Attributes:
        authorization: Page at which people sign in.
        token: Exchanges a code for an ID token.
        keys: Public keys.
        end_session: Page that ends the session at the provider; empty if it has none.
        takes_basic: Whether the client secret can be sent as basic authentication, and not only in the form.
    """

    authorization: str
    token: str
    keys: str
    end_session: str
    takes_basic: bool


class Provider:
    """Provider of an issuer. `failed` is called with the reason of a failed refresh."""

    def __init__(self, issuer: str, timer: Timer, failed: Callable[[str], None] = lambda reason: None) -> None:
        self.issuer, self.timer, self.failed = issuer, timer, failed
        self._endpoints: Endpoints | None = None
        self._keys: Keys | None = None
        self.problem = "it has not answered yet"

    async def keep(self) -> None:
        """Refresh the endpoints and keys periodically, until canceled."""
        while True:
            await self.refresh()
            await asyncio.sleep(RETRY_SECONDS if self.problem else REFRESH_SECONDS)

    async def refresh(self) -> None:
        """Read the endpoints and the keys. What was read before stays valid if that fails."""
        try:
            endpoints = read_endpoints(await fetch(self.issuer.rstrip("/") + DISCOVERY_PATH), self.issuer)
        except (OSError, ValueError, RecursionError) as error:
            self._fail(f"{type(error).__name__}: {error}")
            return
        if self._keys is None or self._keys.source != endpoints.keys:
            self._keys = Keys(endpoints.keys, self.timer, self._fail)
        self._endpoints, self.problem = endpoints, ""
        await self._keys.refresh()

    def endpoints(self) -> Endpoints:
        """Return the endpoints.

        Raises:
            Unavailable: The provider has not answered yet.
        """
        if self._endpoints is None:
            raise self.unavailable(self.problem)
        return self._endpoints

    def keys(self) -> Keys:
        """Return the keys.

        Raises:
            Unavailable: The provider has not answered yet.
        """
        if self._keys is None:
            raise self.unavailable(self.problem)
        return self._keys

    def unavailable(self, reason: str) -> Unavailable:
        """Return the error for a provider that does not answer."""
        hint = f"try again; if it persists, check UI_ISSUER and the network ({reason[:MAX_REASON_LENGTH]})"
        return Unavailable("PROVIDER", f"the identity provider {self.issuer} does not answer", hint=hint)

    def _fail(self, reason: str) -> None:
        self.problem = reason[:MAX_REASON_LENGTH]
        self.failed(self.problem)


def read_endpoints(text: bytes, issuer: str) -> Endpoints:
    """Return the endpoints in a discovery document.

    Raises:
        ValueError: The document is of another issuer, or an endpoint is missing or not protected.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError("the discovery document is of another issuer")
    methods = document.get("token_endpoint_auth_methods_supported")
    return Endpoints(
        authorization=_url(document, "authorization_endpoint"),
        token=_url(document, "token_endpoint"),
        keys=_url(document, "jwks_uri"),
        end_session=_url(document, "end_session_endpoint") if "end_session_endpoint" in document else "",
        takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
    )


def _url(document: dict[str, Any], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or not is_protected_url(url):
        raise ValueError(f"the discovery document has no usable {name}")
    return url
