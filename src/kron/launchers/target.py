"""Validation of URL targets. Whether the address may be called is checked at each attempt, not here."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from kron.errors import InvalidSchedule

MAX_URL_LENGTH = 2_048
_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    """The parts of a URL."""

    scheme: str
    host: str
    port: int
    path: str  # with the query

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(text: str, *, plain: bool = False) -> str:
    """Return the text of a valid webhook target, with its scheme in lower case because the scheme names the launcher.

    `plain` allows `http://`, without TLS. Raises the errors of `read_url`.
    """
    scheme = read_url(text, plain=plain).scheme
    return scheme + text[len(scheme) :]


def read_url(text: str, *, plain: bool = False) -> Url:
    """Return the parts of a webhook URL.

    A URL with a user, a fragment, or anything that two parsers could read as two different hosts is invalid. `plain`
    allows `http://`, without TLS.

    Raises:
        InvalidSchedule: The URL is invalid.
    """
    if (
        len(text) > MAX_URL_LENGTH
        or not text.isascii()
        or not text.isprintable()
        or any(c in text for c in ' "<>\\^`{|}')
    ):
        raise _invalid_url(
            "it is too long or has invalid characters", "use up to 2048 ASCII characters; percent-encode others"
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _invalid_url("it is not a URL", "use https://host/path") from None
    if parts.scheme not in (("https", "http") if plain else ("https",)):
        raise _invalid_url(
            f"scheme {parts.scheme[:20]!r} is not allowed", "use https://host/path" + (" or http://…" if plain else "")
        )
    if "@" in parts.netloc or "#" in text:
        raise _invalid_url("it contains a user or a fragment", "remove the user and the fragment")
    if not parts.hostname or "%" in parts.netloc or port == 0:
        raise _invalid_url("it has no valid host or port", "use https://host/path")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Url(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path)


def _invalid_url(reason: str, hint: str) -> InvalidSchedule:
    return InvalidSchedule("BAD_TARGET", f"invalid target URL: {reason}", hint=hint)
