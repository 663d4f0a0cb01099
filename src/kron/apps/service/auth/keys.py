"""Public keys of the issuer: from a file or a URL, cached and refreshed in the background."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jwt

from kron.apps.service.auth.fetch import MAX_DOCUMENT_BYTES, fetch
from kron.apps.service.config import Config
from kron.engine.clock import Timer
from kron.errors import InvalidSetting, Unavailable

REFRESH_SECONDS = 300.0  # seconds between two refreshes
RETRY_SECONDS = 10.0  # seconds after a failed refresh
MIN_REFRESH_SECONDS = 30.0  # minimum seconds between two refreshes for an unknown key id
MAX_KEY_AGE_SECONDS = 86_400.0  # seconds for which old keys stay valid while the issuer does not answer
_ALGORITHMS = {("OKP", "Ed25519"): "EdDSA", ("EC", "P-256"): "ES256", ("RSA", None): "RS256"}


class Key(NamedTuple):
    """Public key with its only permitted algorithm."""

    algorithm: str
    key: Any


class Keys:
    """Keys by id. `failed` is called with the reason of a failed refresh."""

    def __init__(self, source: str, timer: Timer, failed: Callable[[str], None] = lambda reason: None) -> None:
        self.source, self.timer, self.failed = source, timer, failed
        self.keys: dict[str, Key] = {}
        self.read_at = self.requested_at = float("-inf")
        self.refresh_task: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether there are keys that are not stale."""
        return bool(self.keys) and self.timer.monotonic() - self.read_at <= MAX_KEY_AGE_SECONDS

    async def keep(self) -> None:
        """Refresh the keys periodically, until canceled."""
        while True:
            await self.refresh()
            await asyncio.sleep(REFRESH_SECONDS if self.requested_at == self.read_at else RETRY_SECONDS)

    async def find(self, kid: str) -> Key | None:
        """Return the key of an id; None if the issuer has no such key. Raise KEYS if that cannot be determined now.

        A known id is answered from memory. An unknown id causes a refresh, at most every 30 seconds.
        """
        seconds_since_request = self.timer.monotonic() - self.requested_at
        if not self.ready or kid not in self.keys:
            if self.refresh_task or seconds_since_request > (MIN_REFRESH_SECONDS if self.ready else 1.0):
                await self.refresh()
        elif seconds_since_request > REFRESH_SECONDS:
            self._start_refresh()
        if not self.ready or (kid not in self.keys and self.requested_at > self.read_at):
            raise Unavailable("KEYS", "the issuer's keys are unavailable", hint="retry later")
        return self.keys.get(kid)

    async def refresh(self) -> None:
        """Refresh the keys; concurrent callers wait for the same refresh."""
        await asyncio.shield(self._start_refresh())

    def _start_refresh(self) -> asyncio.Task[None]:
        if self.refresh_task is None:
            self.requested_at = self.timer.monotonic()
            self.refresh_task = asyncio.create_task(self._refresh())
        return self.refresh_task

    async def _refresh(self) -> None:
        try:
            keys = read_keys(await _load(self.source))
        except (OSError, ValueError, RecursionError) as error:
            self.failed(f"{type(error).__name__}: {error}"[:300])  # the old keys stay valid for a while
        else:
            self.keys, self.read_at = keys, self.requested_at
        finally:
            self.refresh_task = None


def check_keys(config: Config) -> None:
    """Raise an error if a JWKS file has no usable keys. A URL is not checked, because it can answer later."""
    if config.auth == "none" or config.jwks.startswith("https://"):
        return
    try:
        read_keys(_content(config.jwks))
    except (OSError, ValueError, RecursionError) as error:
        message = f"the setting JWKS {config.jwks!r} is unusable: {error}"
        raise InvalidSetting(
            "CONFIG", message, hint="use a JWKS with Ed25519, P-256 or RSA keys that have ids"
        ) from None


def read_keys(text: bytes) -> dict[str, Key]:
    """Return the usable keys of a JWKS: public, with an id, of a supported type. The first key of an id counts."""
    keys: dict[str, Key] = {}
    jwks = json.loads(text)
    if not isinstance(jwks, dict) or not isinstance(jwks.get("keys"), list):
        raise ValueError("not a JWKS")
    for jwk in jwks["keys"][:100]:
        key = _key(jwk) if isinstance(jwk, dict) else None
        if key is not None:
            keys.setdefault(jwk["kid"], key)
    if not keys:
        raise ValueError("the JWKS has no usable key")
    return keys


def _key(jwk: dict[str, Any]) -> Key | None:
    algorithm = _ALGORITHMS.get((str(jwk.get("kty")), jwk.get("crv")))
    if algorithm is None or not isinstance(jwk.get("kid"), str) or jwk.get("use", "sig") != "sig" or "d" in jwk:
        return None
    if jwk.get("alg", algorithm) != algorithm:
        return None
    try:
        key = jwt.PyJWK.from_dict(jwk, algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return None if algorithm == "RS256" and key.key_size < 2048 else Key(algorithm, key)


async def _load(source: str) -> bytes:
    return await fetch(source) if "://" in source else await asyncio.to_thread(_content, source)


def _content(path: str) -> bytes:
    with Path(path).open("rb") as file:
        content = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"the JWKS is longer than {MAX_DOCUMENT_BYTES} bytes")
    return content
