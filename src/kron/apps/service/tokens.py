"""Tokens: JWTs of the configured issuer, checked before anything is believed. To all that fail, the answer is one."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from typing import Any

import jwt
from fastapi import Request

from kron.apps.service.caller import SCOPES, TENANT, Caller
from kron.apps.service.capability import Capabilities
from kron.apps.service.config import Config
from kron.apps.service.keys import Keys
from kron.clock import Clock, SystemClock, SystemTimer
from kron.errors import KronError

ALGORITHMS = frozenset({"EdDSA", "ES256", "RS256"})  # none of them has a secret that could be guessed or mixed up
TYPES = frozenset({"jwt", "at+jwt"})
LONGEST = 8 * 1024
LEEWAY = 30
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}")


class TokenDoor:
    """Lets in who has a token: of the issuer, or of one run, to report of it."""

    def __init__(self, config: Config, capabilities: Capabilities, clock: Clock | None = None) -> None:
        self.config, self.capabilities, self.clock = config, capabilities, clock or SystemClock()
        self.keys = Keys(config.jwks, SystemTimer())

    async def admit(self, request: Request) -> Caller:
        """The caller."""
        said = request.headers.getlist("authorization")
        scheme, _, token = said[0].partition(" ") if len(said) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise unauthenticated()
        address = request.client.host if request.client else ""
        if token.startswith("kr~"):
            return self._holder(token, request, address)
        certificate = getattr(request.state, "certificate", None)
        return await self.caller(token, address, certificate.thumbprint if certificate else "")

    async def caller(self, token: str, address: str = "", thumbprint: str = "") -> Caller:
        """The caller that a token names. One that is bound to a certificate is nothing without it."""
        try:
            claims = await self._claims(token)
            if "cnf" in claims and claims["cnf"] != {"x5t#S256": thumbprint}:
                raise ValueError("it belongs to another certificate")
            return Caller(self._tenant(claims), _text(claims["sub"]), _scopes(claims), _id(claims), address)
        except (jwt.PyJWTError, ValueError, KeyError, TypeError, RecursionError):
            raise unauthenticated() from None

    async def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > LONGEST or not _SHAPE.fullmatch(token):
            raise ValueError("this is no token")
        header, claims = (_object(part) for part in token.split(".")[:2])
        if header.get("alg") not in ALGORITHMS or "crit" in header:
            raise ValueError("this algorithm is not taken")
        if str(header.get("typ", "JWT")).lower() not in TYPES or not isinstance(header.get("kid"), str):
            raise ValueError("this is another kind of token")
        key = await self.keys.find(header["kid"])
        if key is None or key.algorithm != header["alg"]:
            raise ValueError("this key is not the issuer's")
        jwt.decode(token, key.key, [key.algorithm], options={"verify_aud": False, "verify_exp": False})
        self._check(claims)
        return claims

    def _check(self, claims: dict[str, Any]) -> None:
        now = self.clock.now()
        times = {name: claims[name] for name in ("exp", "iat", "nbf") if name in claims or name != "nbf"}
        if any(type(at) is not int or not 0 <= at < 1 << 40 for at in times.values()):
            raise ValueError("a time of it is none")
        if times["exp"] <= now - LEEWAY or max(times["iat"], times.get("nbf", 0)) > now + LEEWAY:
            raise ValueError("it is over, or not yet")
        if (times["exp"] - times["iat"]) * 1000 > self.config.token_lifetime_ms:
            raise ValueError("it lives too long")
        if claims["iss"] != self.config.issuer or claims["aud"] not in (self.config.audience, [self.config.audience]):
            raise ValueError("it is another's, or for another")

    def _tenant(self, claims: dict[str, Any]) -> str:
        if not self.config.tenant_claim:
            return ""
        tenant = claims[self.config.tenant_claim]
        if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
            raise ValueError("it names no tenant")
        return tenant

    def _holder(self, token: str, request: Request, address: str) -> Caller:
        key = str(request.path_params.get("key", ""))
        tenant = self.capabilities.holder(token, key, self.clock.now())
        if tenant is None:
            raise unauthenticated()
        return Caller(tenant, f"run {key[:12]}", frozenset({"runs:report"}), address=address)


def unauthenticated() -> KronError:
    """The answer to whoever cannot show who he is."""
    return KronError("UNAUTHENTICATED", "a valid bearer token is needed", hint="send Authorization: Bearer …")


def _object(part: str) -> dict[str, Any]:
    """A part of a token. A name that comes twice could be read in two ways, and is refused."""
    found = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)), object_pairs_hook=_once)
    if not isinstance(found, dict):
        raise ValueError("this is no object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    given = claims.get("scope", claims.get("scp", ""))
    words = given.split(" ") if isinstance(given, str) else given
    return frozenset(word for word in words if isinstance(word, str)) & SCOPES.keys()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise ValueError("it names nobody")
    return value


def _id(claims: dict[str, Any]) -> str:
    return _text(claims["jti"]) if "jti" in claims else ""
