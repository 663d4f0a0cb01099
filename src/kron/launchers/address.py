"""Which addresses a webhook may reach: public ones, and what the operator allows. Names prove nothing."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from kron.errors import KronError

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

# Beside all that is not global: what leads elsewhere than it says, and what serves a cloud's own machines.
DENIED = tuple(
    ip_network(text)
    for text in (
        "100.64.0.0/10",  # behind a carrier's NAT
        "168.63.129.16/32",  # a cloud's own server, at a public address
        "192.0.0.0/24",
        "192.88.99.0/24",  # relays of 6to4
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",  # IPv4 inside, as once was usual
        "::ffff:0:0:0/96",  # translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",  # Teredo and other uses of the protocol itself
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """The networks of a list."""
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise KronError("CONFIG", f"this is no network: {error}", hint="write 10.1.0.0/16") from None


def forbidden(text: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether an address must not be called. One that carries an IPv4 address inside is judged by both."""
    try:
        address = ip_address(text)
    except ValueError:
        return True
    if isinstance(address, IPv6Address) and address.scope_id:
        return True
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = inner or address
    if any(address.version == network.version and address in network for network in allowed):
        return False
    if any(address.version == network.version and address in network for network in DENIED):
        return True
    return not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified
