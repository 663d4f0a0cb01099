"""Targets that are URLs: what may stand in one. Whether its address may be called is asked at each attempt."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from kron.errors import KronError

LONGEST = 2_048
_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    """A URL, taken apart."""

    scheme: str
    host: str
    port: int
    path: str  # with the query

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(text: str, *, plain: bool = False) -> str:
    """The text of a target, if a webhook may have it: its scheme in small letters, since that names the launcher.

    `plain` allows http without TLS.
    """
    scheme = read_url(text, plain=plain).scheme
    return scheme + text[len(scheme) :]


def read_url(text: str, *, plain: bool = False) -> Url:
    """A URL of a host: no user, no fragment, nothing that two readers could take for two hosts."""
    if len(text) > LONGEST or not text.isascii() or not text.isprintable() or any(c in text for c in ' "<>\\^`{|}'):
        raise _bad("it has characters that belong in no URL, or too many", "percent-encode them; give hosts in ASCII")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _bad("it is no URL", "write https://host/path") from None
    if parts.scheme not in (("https", "http") if plain else ("https",)):
        raise _bad(
            f"its scheme is {parts.scheme[:20]!r}", "write https://…" + ("" if plain else "; http is not allowed")
        )
    if "@" in parts.netloc or "#" in text:
        raise _bad("it holds a user or a fragment", "leave them out")
    if not parts.hostname or "%" in parts.netloc or port == 0:
        raise _bad("it names no host", "write https://host/path")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Url(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path)


def _bad(reason: str, hint: str) -> KronError:
    return KronError("BAD_TARGET", f"the target cannot be used: {reason}", hint=hint)
