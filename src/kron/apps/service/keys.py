"""The public keys of the issuer: from a file or a URL, kept for a while, and asked for again when one is missing."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import jwt

from kron.clock import Timer
from kron.errors import KronError

FRESH = 600.0  # seconds
PATIENCE = 30.0  # between two askings for a key that is not there
STALE = 86_400.0  # for so long old keys serve, while the issuer does not answer
LARGEST = 256 * 1024
_KINDS = {("OKP", "Ed25519"): "EdDSA", ("EC", "P-256"): "ES256", ("RSA", None): "RS256"}


class Key(NamedTuple):
    """A public key, and the one algorithm that it is for."""

    algorithm: str
    key: Any


class Keys:
    """The keys by their ids."""

    def __init__(self, source: str, timer: Timer) -> None:
        self.source, self.timer, self.lock = source, timer, asyncio.Lock()
        self.keys: dict[str, Key] = {}
        self.read = self.asked = float("-inf")

    async def find(self, kid: str) -> Key | None:
        """The key of an id. Ids are only looked up, and lead nowhere."""
        now = self.timer.monotonic()
        if now - self.read > FRESH or (kid not in self.keys and now - self.asked > PATIENCE):
            async with self.lock:
                if self.timer.monotonic() - self.asked > (PATIENCE if self.keys else 1.0):
                    await self._refresh()
        if self.timer.monotonic() - self.read > STALE:
            return None
        return self.keys.get(kid)

    async def _refresh(self) -> None:
        self.asked = self.timer.monotonic()
        try:
            self.keys = read_keys(await asyncio.to_thread(_load, self.source))
        except (OSError, ValueError, KronError):
            return  # the old ones serve for a while
        self.read = self.asked


def read_keys(text: bytes) -> dict[str, Key]:
    """The keys of a JWKS that can be used: with an id, public, of a kind that we take. The first of an id counts."""
    found: dict[str, Key] = {}
    listed = json.loads(text)
    if not isinstance(listed, dict) or not isinstance(listed.get("keys"), list):
        raise ValueError("this is no JWKS")
    for each in listed["keys"][:100]:
        key = _key(each) if isinstance(each, dict) else None
        if key is not None:
            found.setdefault(each["kid"], key)
    return found


def _key(each: dict[str, Any]) -> Key | None:
    algorithm = _KINDS.get((str(each.get("kty")), each.get("crv")))
    if algorithm is None or not isinstance(each.get("kid"), str) or each.get("use", "sig") != "sig" or "d" in each:
        return None
    if each.get("alg", algorithm) != algorithm:
        return None
    try:
        key = jwt.PyJWK.from_dict(each, algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return None if algorithm == "RS256" and key.key_size < 2048 else Key(algorithm, key)


def _load(source: str) -> bytes:
    if not source.startswith("https://"):
        return Path(source).read_bytes()[:LARGEST]
    opener = urllib.request.build_opener(_Straight)
    with opener.open(source, timeout=5) as answer:
        content: bytes = answer.read(LARGEST)
        return content


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows nothing: keys come from where they were configured."""

    def redirect_request(self, *_: Any) -> None:
        return None
