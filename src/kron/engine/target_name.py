"""Names of targets: the normal form of a host, so that all spellings of an address share one limit."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address
from urllib.parse import urlsplit

EVERY_TARGET = "*"
HOST_HINT = "write the host of the URL alone, such as hooks.example.com, or the scheme of another target"
_NAME = re.compile(r"[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*", re.ASCII)


def normal_host(host: str) -> str:
    """Return the normal form of a host: in lower case, without a dot at its end, and an IP address as it is usual.

    IPv4 addresses are read as the system's resolver reads them: `127.1` and `0x7f000001` are `127.0.0.1`. An
    IPv4-mapped IPv6 address is its IPv4 address, as it is where forbidden addresses are checked.
    """
    host = host.lower().removesuffix(".")
    if ":" in host:
        try:
            address = IPv6Address(host)
        except ValueError:
            return host
        return str(address.ipv4_mapped or address)
    if host.rpartition(".")[2][:1].isdigit():  # no other name can be an address
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            return host
    return host


def read_target(text: str) -> str:
    """Return the normal form of the target that a limit names.

    Raises:
        ValueError: No target can have this name. The first argument is the problem, the second what to write.
    """
    if text == EVERY_TARGET:
        return text
    if not text.isascii():
        raise ValueError("has a host that is not ASCII", _ascii_hint(text))
    if EVERY_TARGET in text:
        raise ValueError("has a * in a name", "write each host, or * alone for every other target")
    name = normal_host(text[1:-1] if text.startswith("[") and text.endswith("]") else text)
    if not _NAME.fullmatch(name) and not _is_ipv6(name):
        raise ValueError("names more than a host, or no host", _host_hint(text))
    return name


def _is_ipv6(text: str) -> bool:
    try:
        return not IPv6Address(text).scope_id  # no URL has a scope
    except ValueError:
        return False


def _host_hint(text: str) -> str:
    """Return the hint for a name with more than a host: the host of a URL, or the name without its port."""
    try:
        host = normal_host(urlsplit(text if "//" in text else f"//{text}").hostname or "") if "%" not in text else ""
    except ValueError:
        host = ""
    return f"write the name alone: {host}. All ports of a host share its limit" if _NAME.fullmatch(host) else HOST_HINT


def _ascii_hint(text: str) -> str:
    """Return the hint for a name that is not ASCII: URLs have its IDNA form."""
    try:
        return f"write the host as in the URL of the webhook: {text.encode('idna').decode()}"
    except UnicodeError:
        return HOST_HINT
