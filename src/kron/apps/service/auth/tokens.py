"""JWTs of the configured issuer, and their verification."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from typing import Any

import jwt
from fastapi import Request

from kron.apps.service.auth.caller import SCOPES, TENANT, Caller
from kron.apps.service.auth.capability import Capabilities
from kron.apps.service.auth.keys import Keys
from kron.apps.service.auth.proxies import address_of
from kron.apps.service.config import Config
from kron.engine.clock import Clock, SystemClock, SystemTimer
from kron.engine.events import Event, Sink, silent
from kron.errors import AccessDenied

ALGORITHMS = frozenset({"EdDSA", "ES256", "RS256"})  # asymmetric: no shared secret to guess or to confuse with a key
TYPES = frozenset({"jwt", "at+jwt"})
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


class JwtAuthenticator:
    """Authenticator of JWTs of the issuer, and of report tokens of one run."""

    def __init__(
        self, config: Config, capabilities: Capabilities, clock: Clock | None = None, sink: Sink = silent
    ) -> None:
        self.config, self.capabilities, self.clock, self.sink = config, capabilities, clock or SystemClock(), sink
        self.keys = Keys(config.jwks, SystemTimer(), self._emit_keys_failed)

    @property
    def ready(self) -> bool:
        """Whether tokens can be verified."""
        return self.keys.ready

    async def keep(self) -> None:
        """Keep the keys of the issuer up to date."""
        await self.keys.keep()

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller of a request."""
        authorizations = request.headers.getlist("authorization")
        scheme, _, token = authorizations[0].partition(" ") if len(authorizations) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise unauthenticated("malformed" if authorizations else "missing", "a bearer token is required")
        address = address_of(request, self.config.trusted_proxies)
        if token.startswith("kr~"):
            return self._report_caller(token, request, address)
        certificate = getattr(request.state, "certificate", None)
        return await self.caller(token, address, certificate.thumbprint if certificate else "")

    async def caller(self, token: str, address: str = "", thumbprint: str = "") -> Caller:
        """Return the caller that a token names. A token bound to a certificate is valid only with that certificate."""
        try:
            claims = await self._claims(token)
            if "cnf" in claims and (not thumbprint or claims["cnf"] != {"x5t#S256": thumbprint}):
                raise Refused("certificate", "the token is bound to another certificate")
            return Caller(self._tenant(claims), _text(claims, "sub"), _scopes(claims), _id(claims), address)
        except Refused as refused:
            raise unauthenticated(refused.reason, str(refused)) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise unauthenticated("malformed", "the token is malformed") from None

    async def _claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token whose signature is valid. For an invalid one, no other reason is revealed."""
        if len(token) > MAX_TOKEN_LENGTH or not _SHAPE.fullmatch(token):
            raise Refused("malformed", "the value is not a JWT")
        header, claims = (_object(part) for part in token.split(".")[:2])
        if header.get("alg") not in ALGORITHMS or "crit" in header:
            raise Refused("algorithm", "the token's algorithm is not accepted")
        if str(header.get("typ", "JWT")).lower() not in TYPES or not isinstance(header.get("kid"), str):
            raise Refused("malformed", "the token has another type, or names no key")
        key = await self.keys.find(header["kid"])
        if key is None or key.algorithm != header["alg"]:
            raise Refused("unknown_key", "the issuer has no key with this id")
        try:
            jwt.decode(token, key.key, [key.algorithm], options=_SIGNATURE_ONLY)
        except jwt.PyJWTError:
            raise Refused("signature", "the token's signature is invalid") from None
        self._check(claims)
        return claims

    def _check(self, claims: dict[str, Any]) -> None:
        now = self.clock.now()
        times = {name: claims.get(name) for name in ("exp", "iat", "nbf") if name in claims or name != "nbf"}
        if any(type(at) is not int or not 0 <= at < 1 << 40 for at in times.values()):
            raise Refused("malformed", "a time claim is missing or not an integer")
        exp, iat, nbf = claims["exp"], claims["iat"], claims.get("nbf", 0)
        if exp <= now - LEEWAY_SECONDS:
            raise Refused("expired", "the token has expired")
        if max(iat, nbf) > now + LEEWAY_SECONDS:
            raise Refused("not_yet_valid", "the token is not valid yet")
        if (exp - iat) * 1000 > self.config.max_token_lifetime_ms:
            raise Refused("lifetime", "the token's lifetime is too long")
        if claims.get("iss") != self.config.issuer:
            raise Refused("issuer", "the token is of another issuer")
        audience = claims.get("aud")
        if self.config.audience not in (audience if isinstance(audience, list) else [audience]):
            raise Refused("audience", "the token is for another audience")

    def _tenant(self, claims: dict[str, Any]) -> str:
        if not self.config.tenant_claim:
            return ""
        tenant = claims.get(self.config.tenant_claim)
        if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
            raise Refused("tenant", "the token names no tenant")
        return tenant

    def _report_caller(self, token: str, request: Request, address: str) -> Caller:
        key = str(request.path_params.get("key", ""))
        tenant = self.capabilities.holder(token, key, self.clock.now())
        if tenant is None:
            raise unauthenticated("report_token", "the token is not for this run, or has expired")
        return Caller(tenant, f"run {key[:12]}", frozenset({"runs:report"}), address=address)

    def _emit_keys_failed(self, reason: str) -> None:
        self.sink(Event("keys_failed", int(self.clock.now() * 1000), {"source": self.config.jwks, "error": reason}))


def unauthenticated(reason: str, message: str) -> AccessDenied:
    """Return the error for an unauthenticated caller. The class of the reason is stable; its text can change."""
    hint = "send Authorization: Bearer with a token of the configured issuer"
    return AccessDenied("UNAUTHENTICATED", message, hint=hint, details={"reason": reason})


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


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    claim = claims.get("scope", claims.get("scp", ""))
    words = claim.split(" ") if isinstance(claim, str) else claim
    return frozenset(word for word in words if isinstance(word, str)) & SCOPES.keys()


def _text(claims: dict[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise Refused("malformed", f"the claim {name} of the token is invalid")
    return value


def _id(claims: dict[str, Any]) -> str:
    return _text(claims, "jti") if "jti" in claims else ""
