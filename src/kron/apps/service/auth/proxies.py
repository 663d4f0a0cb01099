"""Client addresses: that of the peer, or the one that trusted proxies forward."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from starlette.requests import Request

from kron.launchers.address import networks

MAX_HOPS = 20


def address_of(request: Request, trusted: tuple[str, ...]) -> str:
    """Return the client address: if a trusted proxy calls, the last untrusted entry of X-Forwarded-For."""
    address = request.client.host if request.client else ""
    if not _trusts(address, trusted):
        return address
    hops = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for hop in reversed(hops[-MAX_HOPS:]):
        try:
            address = str(ipaddress.ip_address(hop.strip()))
        except ValueError:
            return address  # not an address: the proxy that received this entry is the last known hop
        if not _trusts(address, trusted):
            return address
    return address


def _trusts(address: str, trusted: tuple[str, ...]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in _networks(trusted))


@lru_cache(8)
def _networks(trusted: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return list(networks(trusted))
