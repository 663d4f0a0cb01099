"""Person of an ID token: the name, the role and the tenants that its claims give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kron.apps.dashboard.access import Role
from kron.apps.service.auth.caller import TENANT
from kron.apps.service.auth.signed_token import text_claim
from kron.apps.service.config import Config
from kron.apps.service.login.session import Person
from kron.errors import AccessDenied

MAX_VALUES = 1_000  # values of a claim that are read


def person_of(claims: dict[str, Any], config: Config) -> Person:
    """Return the person that the claims of an ID token describe.

    Raises:
        Refused: The claim of the name is missing.
        AccessDenied: The person has no role or no tenant; the error names the person and the claim.
    """
    name = text_claim(claims, config.ui_name_claim)
    values = values_of(claims, config.ui_role_claim)
    if set(config.ui_operator_values) <= values:
        role = Role.OPERATOR
    elif set(config.ui_viewer_values) <= values:
        role = Role.VIEWER
    else:
        raise _without_role(name, config, values)
    return Person(name, role, _tenants(name, claims, config))


def values_of(claims: Mapping[str, Any], name: str) -> set[str]:
    """Return the values of a claim: the items of a list, or the words of a text. `scp` is another name of `scope`."""
    claim = claims.get(name, claims.get("scp", "") if name == "scope" else "")
    items = claim.split(" ") if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return {item for item in items[:MAX_VALUES] if isinstance(item, str) and item}


def _without_role(name: str, config: Config, values: set[str]) -> AccessDenied:
    claim, shown = config.ui_role_claim, ", ".join(sorted(values)[:10])
    present = f"it has {shown[:150]}" if shown else "it is missing or empty"
    hint = f"the claim {claim} of the ID token must contain {' '.join(config.ui_viewer_values)}; {present}"
    return AccessDenied("NO_ROLE", f"you are {name}, and have no role in this dashboard", hint=hint)


def _tenants(name: str, claims: Mapping[str, Any], config: Config) -> tuple[str, ...] | None:
    """Return the tenants: the claim is one tenant, or a list of them."""
    if not config.tenant_claim:
        return None
    claim = claims.get(config.tenant_claim)
    tenants = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    if not tenants or not all(isinstance(tenant, str) and TENANT.fullmatch(tenant) for tenant in tenants):
        hint = f"the claim {config.tenant_claim} of the ID token must name a tenant, or a list of tenants"
        raise AccessDenied("NO_ROLE", f"you are {name}, and belong to no tenant", hint=hint)
    return tuple(dict.fromkeys(tenants))
