"""Webhook signatures (Standard Webhooks) and their secrets. Each tenant has its own secrets, derived from one secret.

Receivers written in Python can use `verify`.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping, Sequence
from hashlib import sha256

from kron.errors import InvalidSetting

TOLERANCE_SECONDS = 300  # seconds
_PREFIX = "whsec_"


class Secrets:
    """Webhook secrets of a service, newest first: several during a rotation. They are never shown.

    Args:
        text: Secrets, separated by commas or spaces.
        tenanted: Whether the first part of an identity is its tenant.
    """

    def __init__(self, text: str, *, tenanted: bool = False) -> None:
        self._keys = [read_secret(word) for word in text.replace(",", " ").split()]
        self.tenanted = tenanted

    def __bool__(self) -> bool:
        return bool(self._keys)

    def of(self, tenant: str) -> list[bytes]:
        """Return the signing keys of a tenant. A tenant cannot compute the keys of another tenant from its own."""
        if not tenant:
            return list(self._keys)
        return [hmac.digest(key, b"kron tenant\n" + tenant.encode(), sha256) for key in self._keys]

    def derived(self, purpose: str) -> list[bytes]:
        """Return keys for another purpose than webhooks."""
        return [hmac.digest(key, b"kron purpose\n" + purpose.encode(), sha256) for key in self._keys]

    def of_identity(self, identity: str) -> list[bytes]:
        """Return the signing keys of the tenant that owns a schedule."""
        return self.of(self.tenant_of(identity))

    def tenant_of(self, identity: str) -> str:
        """Return the tenant of a schedule; empty if the service has no tenants."""
        return identity.partition("/")[0] if self.tenanted else ""

    def written(self, tenant: str) -> list[str]:
        """Return the keys of a tenant as receivers configure them (`whsec_…`)."""
        return [_PREFIX + b64encode(key).decode() for key in self.of(tenant)]


def read_secret(text: str) -> bytes:
    """Return the key of a secret: `whsec_` followed by the base64 of 24 to 64 bytes.

    Raises:
        InvalidSetting: The text is not such a secret. The message does not contain the secret.
    """
    try:
        key = b64decode(text.removeprefix(_PREFIX), validate=True)
    except (Error, ValueError):
        key = b""
    if not text.startswith(_PREFIX) or not 24 <= len(key) <= 64:
        hint = "use whsec_ followed by the base64 of 32 random bytes"
        raise InvalidSetting(
            "CONFIG", "invalid webhook secret: expected whsec_ and the base64 of 24 to 64 bytes", hint=hint
        )
    return key


def sign(keys: Sequence[bytes], identifier: str, timestamp: int, body: bytes) -> str:
    """Return the value of the `webhook-signature` header: one signature per key.

    Args:
        keys: Signing keys.
        identifier: Value of `webhook-id`.
        timestamp: Value of `webhook-timestamp`, in seconds since 1970.
        body: Body of the request.
    """
    message = f"{identifier}.{timestamp}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, message, sha256)).decode()}" for key in keys)


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Return whether a webhook was signed with a secret at most 300 seconds before or after `now`.

    Args:
        secret: The tenant's secret (`whsec_…`).
        headers: Headers of the request, with names in lower case.
        body: Body of the request.
        now: Current time in seconds since 1970.

    Raises:
        InvalidSetting: The secret is invalid.
    """
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not identifier or not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        return False
    if abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = sign([read_secret(secret)], identifier, int(timestamp), body).encode()
    signatures = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(expected, signature) for signature in signatures)
