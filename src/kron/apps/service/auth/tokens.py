"""JWTs of the configured issuer, and their verification."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from kron.apps.service.auth.caller import SCOPES, TENANT, Caller
from kron.apps.service.auth.capability import Capabilities
from kron.apps.service.auth.keys import Keys
from kron.apps.service.auth.proxies import address_of
from kron.apps.service.auth.signed_token import Refused, check_times, signed_claims, text_claim
from kron.apps.service.config import Config
from kron.engine.clock import Clock, SystemClock, SystemTimer
from kron.engine.events import Event, Sink, silent
from kron.errors import AccessDenied

TYPES = frozenset({"jwt", "at+jwt"})


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
            claims = await signed_claims(token, self.keys, TYPES)
            self._check(claims)
            if "cnf" in claims and (not thumbprint or claims["cnf"] != {"x5t#S256": thumbprint}):
                raise Refused("certificate", "the token is bound to another certificate")
            return Caller(self._tenant(claims), text_claim(claims, "sub"), _scopes(claims), _id(claims), address)
        except Refused as refused:
            raise unauthenticated(refused.reason, str(refused)) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise unauthenticated("malformed", "the token is malformed") from None

    def _check(self, claims: dict[str, Any]) -> None:
        check_times(claims, self.clock.now())
        if (claims["exp"] - claims["iat"]) * 1000 > self.config.max_token_lifetime_ms:
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


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    claim = claims.get("scope", claims.get("scp", ""))
    words = claim.split(" ") if isinstance(claim, str) else claim
    return frozenset(word for word in words if isinstance(word, str)) & SCOPES.keys()


def _id(claims: dict[str, Any]) -> str:
    return text_claim(claims, "jti") if "jti" in claims else ""
