"""Addresses that a webhook may reach: public ones, and those that the operator allows.

Host names prove nothing: only the resolved address is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from kron.errors import InvalidSetting

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

# Denied in addition to all addresses that are not global: addresses that lead elsewhere than they say, and addresses
# that serve a cloud provider's own machines.
DENIED_NETWORKS = tuple(
    ip_network(text)
    for text in (
        "100.64.0.0/10",  # carrier-grade NAT
        "168.63.129.16/32",  # a cloud provider's internal server at a public address
        "192.0.0.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",  # IPv4-compatible IPv6 addresses (deprecated)
        "::ffff:0:0:0/96",  # IPv4-translated IPv6 addresses
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",  # Teredo and other IETF protocol assignments
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
    """Return the networks of a list of texts. Raises `InvalidSetting` if a text is not a network."""
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise InvalidSetting(
            "CONFIG", f"invalid network: {error}", hint="use CIDR notation, such as 10.1.0.0/16"
        ) from None


def forbidden(text: str, allowed: Sequence[Network] = ()) -> bool:
    """Return whether an address must not be called. `allowed` takes precedence over the denied networks.

    An IPv4-mapped IPv6 address is checked as its IPv4 address. A text that is not an address, and an address with a
    scope id, are forbidden.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return True
    if isinstance(address, IPv6Address) and address.scope_id:
        return True
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = mapped or address
    if any(address.version == network.version and address in network for network in allowed):
        return False
    if any(address.version == network.version and address in network for network in DENIED_NETWORKS):
        return True
    return not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified
