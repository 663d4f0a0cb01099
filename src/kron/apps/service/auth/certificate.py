"""Client certificates: which names may call, and which token is bound to which certificate (RFC 8705)."""

from __future__ import annotations

import ssl
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any, NamedTuple

NAME_KINDS = frozenset({"DNS", "URI"})


class Certificate(NamedTuple):
    """Client certificate: the names that its authority has signed, and its thumbprint."""

    names: frozenset[str]
    thumbprint: str


def peer_certificate(tls: ssl.SSLObject) -> Certificate | None:
    """Return the certificate of the peer; None if it has none."""
    raw, details = tls.getpeercert(binary_form=True), tls.getpeercert() or {}
    if not raw:
        return None
    alternatives: Any = details.get("subjectAltName", ())
    names = frozenset(name for kind, name in alternatives if kind in NAME_KINDS)
    return Certificate(names, urlsafe_b64encode(sha256(raw).digest()).rstrip(b"=").decode())
