"""Report token: allows its holder to report one run, and nothing else, until the token expires."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256

from kron.engine.clock import Clock
from kron.engine.launcher import Launch
from kron.launchers.signature import Secrets

MAX_LIFETIME_SECONDS = 7 * 86_400  # maximum lifetime in seconds


class Capabilities:
    """Issues and verifies report tokens. They are not stored: a token is verified by its signature.

    `secrets` must be known to the service only, because anyone with a secret can report any run.
    """

    def __init__(self, secrets: Secrets, tenant_of: Callable[[str], str], url: str, seconds: int, clock: Clock) -> None:
        self.secrets, self.tenant_of, self.url, self.clock = secrets, tenant_of, url.rstrip("/"), clock
        self.seconds = min(seconds, MAX_LIFETIME_SECONDS)

    def grant(self, launch: Launch) -> dict[str, str] | None:
        """Return the URL and the token with which a receiver reports its run."""
        keys = self.secrets.derived("report")
        if not self.url or not keys:
            return None
        tenant, key = self.tenant_of(launch.run.identity), launch.run.key
        expires_at = int(self.clock.now()) + self.seconds
        return {
            "url": f"{self.url}/v1/runs/{key}/report",
            "token": f"kr~{expires_at}~{tenant}~{_mac(keys[0], tenant, key, expires_at)}",
        }

    def holder(self, token: str, key: str, now: float) -> str | None:
        """Return the tenant of a token for that run; None if the token is for another run or has expired."""
        parts = token.split("~")
        if len(parts) != 4 or not parts[1].isascii() or not parts[1].isdigit() or len(parts[1]) > 12:
            return None
        expires_at, tenant, token_mac = int(parts[1]), parts[2], parts[3].encode()
        valid_macs = [_mac(secret, tenant, key, expires_at).encode() for secret in self.secrets.derived("report")]
        return tenant if expires_at > now and any(hmac.compare_digest(mac, token_mac) for mac in valid_macs) else None


def _mac(secret: bytes, tenant: str, key: str, expires_at: int) -> str:
    return hmac.digest(secret, f"{tenant}\n{key}\n{expires_at}".encode(), sha256).hex()
