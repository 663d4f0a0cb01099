"""ID token: what a provider says about a person, for this service and for one login."""

from __future__ import annotations

import hmac
from typing import Any

from kron.apps.service.auth.keys import Keys
from kron.apps.service.auth.signed_token import Refused, check_times, signed_claims

TYPES = frozenset({"jwt"})  # an access token (at+jwt) is not an ID token


async def id_token_claims(
    token: str, keys: Keys, *, issuer: str, client_id: str, nonce: str, now: float
) -> dict[str, Any]:
    """Return the claims of an ID token.

    Args:
        token: The token.
        keys: Keys of the provider.
        issuer: The provider.
        client_id: This service, as the provider knows it.
        nonce: Random text that this service sent with this login.
        now: Time in seconds.

    Raises:
        Refused: The token is not of this provider, for this service and for this login, or not valid now.
        ValueError: The token is malformed.
        Unavailable: The keys are unavailable.
    """
    claims = await signed_claims(token, keys, TYPES)
    if claims.get("iss") != issuer:
        raise Refused("issuer", "the ID token is of another issuer")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client_id not in audiences or claims.get("azp", client_id if len(audiences) == 1 else None) != client_id:
        raise Refused("audience", "the ID token is for another client")
    check_times(claims, now)
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise Refused("nonce", "the ID token is of another login")
    return claims
