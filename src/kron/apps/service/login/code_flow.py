"""Code flow: a login from the redirect to the provider until its ID token, with PKCE (RFC 7636)."""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from kron.apps.service.auth.fetch import Response, send
from kron.apps.service.auth.signed_token import LEEWAY_SECONDS, Refused
from kron.apps.service.config import Config
from kron.apps.service.login.id_token import id_token_claims
from kron.apps.service.login.provider import Endpoints, Provider
from kron.engine.clock import Clock
from kron.errors import AccessDenied, Unavailable

LOGIN_SECONDS = 600  # for a person to sign in at the provider
MAX_CODE_LENGTH = 2_000
MAX_EXCHANGES = 20  # codes that one process exchanges at the same time
_CLOCK_REASONS = frozenset({"expired", "not_yet_valid"})


class CodeFlow:
    """Code flow of one client. The browser keeps the facts of a login in a sealed cookie."""

    def __init__(self, config: Config, provider: Provider, clock: Clock) -> None:
        self.config, self.provider, self.clock = config, provider, clock
        self.redirect_uri = f"{config.ui_url}/callback"
        self.exchanges = 0

    def begin(self, address: str, *, is_other_person: bool) -> tuple[str, dict[str, Any]]:
        """Return the address at which the person signs in, and the facts that the browser keeps meanwhile.

        Args:
            address: Path to which the login leads back.
            is_other_person: Whether the provider must ask who the person is, also if it knows one.

        Raises:
            Unavailable: The provider has not answered yet.
        """
        endpoint = self.provider.endpoints().authorization
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self.config.ui_client_id,
            "redirect_uri": self.redirect_uri,
            "scope": " ".join(self.config.ui_scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **({"prompt": "login"} if is_other_person else {}),
        }
        expires = int(self.clock.now()) + LOGIN_SECONDS
        facts = {"state": state, "nonce": nonce, "verifier": verifier, "address": address, "expires": expires}
        return f"{endpoint}?{urlencode(query)}", facts

    async def finish(self, query: Mapping[str, str], facts: dict[str, Any] | None) -> dict[str, Any]:
        """Return the claims of the person, after the provider has sent the browser back.

        Args:
            query: Parameters that the provider sent.
            facts: What the browser kept; None if it kept nothing valid.

        Raises:
            AccessDenied: The login was not begun in this browser, or the provider or its ID token refuse it.
            Unavailable: The provider does not answer.
        """
        if facts is None or facts["expires"] <= self.clock.now():
            raise login_error("this login was not begun in this browser, or more than 10 minutes ago")
        if not hmac.compare_digest(query.get("state", "").encode(), facts["state"].encode()):
            raise login_error("this is the answer to another login")
        if query.get("iss", self.provider.issuer) != self.provider.issuer:
            raise login_error("the answer is of another provider")
        if "error" in query:
            raise login_error(f"the identity provider refused: {_reason(query)}")
        code = query.get("code", "")
        if not code or len(code) > MAX_CODE_LENGTH:
            raise login_error("the answer of the identity provider has no code")
        token = await self._id_token(code, facts["verifier"])
        return await self._claims(token, facts["nonce"])

    async def _id_token(self, code: str, verifier: str) -> str:
        """Exchange a code for an ID token. Other tokens of the response are not kept."""
        if self.exchanges >= MAX_EXCHANGES:
            raise Unavailable("PROVIDER", "too many people sign in at the same time", hint="try again")
        self.exchanges += 1
        try:
            response = await self._exchange(self.provider.endpoints(), code, verifier)
            answer = json.loads(response.content)
        except (OSError, ValueError, RecursionError) as error:
            raise self.provider.unavailable(f"{type(error).__name__}: {error}") from None
        finally:
            self.exchanges -= 1
        facts = answer if isinstance(answer, dict) else {}
        if response.status != 200:
            raise login_error(f"the identity provider refused the code: {_reason(facts)}")
        token = facts.get("id_token")
        if not isinstance(token, str):
            raise login_error("the identity provider sent no ID token")
        return token

    async def _exchange(self, endpoints: Endpoints, code: str, verifier: str) -> Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": verifier,
            "client_id": self.config.ui_client_id,
        }
        secret = self.config.ui_client_secret
        if not secret:
            return await send(endpoints.token, form)
        if not endpoints.takes_basic:
            return await send(endpoints.token, {**form, "client_secret": secret})
        credentials = f"{quote(self.config.ui_client_id, safe='')}:{quote(secret, safe='')}"
        return await send(endpoints.token, form, {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"})

    async def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        try:
            return await id_token_claims(
                token,
                self.provider.keys(),
                issuer=self.provider.issuer,
                client_id=self.config.ui_client_id,
                nonce=nonce,
                now=self.clock.now(),
            )
        except Refused as refused:
            if refused.reason in _CLOCK_REASONS:
                hint = f"the clocks of this service and of the identity provider differ by more than {LEEWAY_SECONDS} s"
                raise login_error(str(refused).replace("the token", "the ID token"), f"{hint}: set them") from None
            raise login_error(str(refused)) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise login_error("the ID token is malformed") from None


def login_error(message: str, hint: str = "sign in again") -> AccessDenied:
    """Return the error of a login."""
    return AccessDenied("LOGIN", message, hint=hint)


def _reason(facts: Mapping[str, Any]) -> str:
    """Return the error that a provider sent, as one line."""
    texts = [facts.get("error"), facts.get("error_description")]
    return ": ".join(text[:200] for text in texts if isinstance(text, str) and text.isprintable()) or "no reason given"
