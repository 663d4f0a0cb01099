"""Signatures as Standard Webhooks has them, and their secrets. Each tenant has secrets of its own, made from one.

Receivers written in Python may use `verify`.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping, Sequence
from hashlib import sha256

from kron.errors import KronError

TOLERANCE = 300  # seconds
_PREFIX = "whsec_"


class Secrets:
    """The secrets of a service, the newest first: several while they are being changed. They are never shown."""

    def __init__(self, text: str, *, tenanted: bool = False) -> None:
        self._keys = [read_secret(word) for word in text.replace(",", " ").split()]
        self.tenanted = tenanted

    def __bool__(self) -> bool:
        return bool(self._keys)

    def of(self, tenant: str) -> list[bytes]:
        """The keys of a tenant: nobody can work out another's from his own."""
        if not tenant:
            return list(self._keys)
        return [hmac.digest(key, b"kron tenant\n" + tenant.encode(), sha256) for key in self._keys]

    def derived(self, purpose: str) -> list[bytes]:
        """Keys for something else than webhooks."""
        return [hmac.digest(key, b"kron purpose\n" + purpose.encode(), sha256) for key in self._keys]

    def of_identity(self, identity: str) -> list[bytes]:
        """The keys of whoever a schedule belongs to."""
        return self.of(self.tenant_of(identity))

    def tenant_of(self, identity: str) -> str:
        """The tenant of a schedule; empty if there is but one."""
        return identity.partition("/")[0] if self.tenanted else ""

    def written(self, tenant: str) -> list[str]:
        """The keys as receivers configure them."""
        return [_PREFIX + b64encode(key).decode() for key in self.of(tenant)]


def read_secret(text: str) -> bytes:
    """The key of `whsec_` and base64, of 24 to 64 bytes."""
    try:
        key = b64decode(text.removeprefix(_PREFIX), validate=True)
    except (Error, ValueError):
        key = b""
    if not text.startswith(_PREFIX) or not 24 <= len(key) <= 64:
        hint = "write whsec_ and the base64 of 32 random bytes"
        raise KronError("CONFIG", "a webhook secret cannot be read", hint=hint)
    return key


def sign(keys: Sequence[bytes], identifier: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature for each key."""
    message = f"{identifier}.{timestamp}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, message, sha256)).decode()}" for key in keys)


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Whether a webhook was signed with a secret, and lately. Header names are in small letters."""
    identifier, said = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not identifier or not said.isascii() or not said.isdigit() or len(said) > 12:
        return False
    if abs(now - int(said)) > TOLERANCE:
        return False
    wanted = sign([read_secret(secret)], identifier, int(said), body).encode()
    given = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(wanted, each) for each in given)
