"""Certificates of clients: whose names may call, and which token belongs to which certificate (RFC 8705)."""

from __future__ import annotations

import asyncio
import ssl
from base64 import urlsafe_b64encode
from collections.abc import Collection
from hashlib import sha256
from typing import Any, NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol

NAMED = frozenset({"DNS", "URI"})


class Certificate(NamedTuple):
    """What a client has shown: the names that its authority has signed, and its thumbprint."""

    names: frozenset[str]
    thumbprint: str


def shown(tls: ssl.SSLObject) -> Certificate | None:
    """The certificate of the other side; None if there is none."""
    raw, said = tls.getpeercert(binary_form=True), tls.getpeercert() or {}
    if not raw:
        return None
    alternatives: Any = said.get("subjectAltName", ())
    names = frozenset(name for kind, name in alternatives if kind in NAMED)
    return Certificate(names, urlsafe_b64encode(sha256(raw).digest()).rstrip(b"=").decode())


def protocol(allowed: Collection[str]) -> type[H11Protocol]:
    """HTTP that knows who is at the other end, and hangs up on those whose name is not on the list, if there is one."""

    class Protocol(H11Protocol):
        """One connection."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Look at whoever has connected, before anything is read."""
            super().connection_made(transport)
            tls = transport.get_extra_info("ssl_object")
            certificate = shown(tls) if tls else None
            self.app_state = {**self.app_state, "certificate": certificate}
            if allowed and not (certificate and certificate.names & set(allowed)):
                transport.close()

    return Protocol
