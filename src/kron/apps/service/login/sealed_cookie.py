"""Sealed cookie: a small value that the browser keeps and can neither read nor change."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from starlette.requests import Request
from starlette.responses import Response

from kron.launchers.signature import Secrets

MAX_COOKIE_LENGTH = 3_800  # browsers keep 4,096 bytes with the name and the attributes


class SealedCookie:
    """Cookie of one purpose, encrypted and signed with a key of that purpose.

    With TLS its name begins with `__Host-`: browsers then accept it only with `Secure`, for this host and all paths. A
    plain loopback address, for trials, has a plain cookie.
    """

    def __init__(self, name: str, secrets: Secrets, *, is_secure: bool) -> None:
        self.name, self.is_secure = f"__Host-{name}" if is_secure else name, is_secure
        keys = [Fernet(urlsafe_b64encode(key)) for key in secrets.derived(f"dashboard cookie {name}")]
        self._fernet = MultiFernet(keys)  # seals with the first key, and opens with all of them

    def sealed(self, value: dict[str, Any]) -> str:
        """Return the text of a cookie."""
        return self._fernet.encrypt(json.dumps(value, separators=(",", ":")).encode()).decode()

    def opened(self, text: str) -> dict[str, Any] | None:
        """Return the value of a text; None if this service did not seal it for this purpose."""
        if not text or len(text) > MAX_COOKIE_LENGTH:
            return None
        try:
            value = json.loads(self._fernet.decrypt(text))
        except (InvalidToken, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def read(self, request: Request) -> dict[str, Any] | None:
        """Return the value of the cookie of a request; None if there is no valid one."""
        return self.opened(request.cookies.get(self.name, ""))

    def write(self, response: Response, text: str, seconds: int) -> None:
        """Set the cookie."""
        response.set_cookie(
            self.name, text, max_age=seconds, path="/", secure=self.is_secure, httponly=True, samesite="lax"
        )

    def delete(self, response: Response) -> None:
        """Delete the cookie."""
        response.delete_cookie(self.name, path="/", secure=self.is_secure, httponly=True, samesite="lax")
