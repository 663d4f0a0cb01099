"""Signed tokens: the claims of a JWT whose signature is that of a known key, and the checks that all tokens need."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from typing import Any

import jwt

from kron.apps.service.auth.keys import Keys

ALGORITHMS = frozenset({"EdDSA", "ES256", "RS256"})  # asymmetric: no shared secret to guess or to confuse with a key
MAX_TOKEN_LENGTH = 8 * 1024
LEEWAY_SECONDS = 30
_SIGNATURE_ONLY: Any = {f"verify_{name}": False for name in ("aud", "exp", "iat", "nbf", "iss", "sub", "jti")}
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}")


class Refused(ValueError):
    """Rejection of a token: the class of the reason, and its text."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


async def signed_claims(token: str, keys: Keys, types: frozenset[str]) -> dict[str, Any]:
    """Return the claims of a token whose signature is valid. For an invalid one, no other reason is revealed.

    Args:
        token: The token.
        keys: Keys of the issuer.
        types: Permitted values of the header `typ`, in lower case.

    Raises:
        Refused: The token is not signed by one of the keys with its only permitted algorithm.
        ValueError: The token is malformed.
        Unavailable: The keys are unavailable.
    """
    if len(token) > MAX_TOKEN_LENGTH or not _SHAPE.fullmatch(token):
        raise Refused("malformed", "the value is not a JWT")
    header, claims = (_object(part) for part in token.split(".")[:2])
    if header.get("alg") not in ALGORITHMS or "crit" in header:
        raise Refused("algorithm", "the token's algorithm is not accepted")
    if str(header.get("typ", "JWT")).lower() not in types or not isinstance(header.get("kid"), str):
        raise Refused("malformed", "the token has another type, or names no key")
    key = await keys.find(header["kid"])
    if key is None or key.algorithm != header["alg"]:
        raise Refused("unknown_key", "the issuer has no key with this id")
    try:
        jwt.decode(token, key.key, [key.algorithm], options=_SIGNATURE_ONLY)
    except jwt.PyJWTError:
        raise Refused("signature", "the token's signature is invalid") from None
    return claims


def check_times(claims: dict[str, Any], now: float) -> None:
    """Raise Refused if a token is not valid at a time, in seconds."""
    times = {name: claims.get(name) for name in ("exp", "iat", "nbf") if name in claims or name != "nbf"}
    if any(type(at) is not int or not 0 <= at < 1 << 40 for at in times.values()):
        raise Refused("malformed", "a time claim is missing or not an integer")
    exp, iat, nbf = claims["exp"], claims["iat"], claims.get("nbf", 0)
    if exp <= now - LEEWAY_SECONDS:
        raise Refused("expired", "the token has expired")
    if max(iat, nbf) > now + LEEWAY_SECONDS:
        raise Refused("not_yet_valid", "the token is not valid yet")


def text_claim(claims: dict[str, Any], name: str) -> str:
    """Return a claim that is a short text in one line.

    Raises:
        Refused: The claim is missing, or is something else.
    """
    value = claims.get(name)
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise Refused("malformed", f"the claim {name} of the token is invalid")
    return value


def _object(part: str) -> dict[str, Any]:
    """Decode a part of a token. A duplicate name is rejected, because it is ambiguous."""
    value = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)), object_pairs_hook=_unique_members)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate name")
    return members
