"""Requests that a page of another site can make a browser send, and addresses that no store can hold."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from kron.errors import InvalidInput


def nul_error(scope: Mapping[str, Any]) -> InvalidInput | None:
    """Return an error if the URL of a request contains a NUL character."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return InvalidInput("BAD_URL", "the URL contains a NUL character", hint="remove %00")
    return None


def is_of_another_site(headers: Mapping[str, str]) -> bool:
    """Return whether a page of another origin sent a request. Browsers tell it in headers that pages cannot set."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_foreign = origin is not None and _network_location(origin) != headers.get("host", "")
    return is_foreign or site not in ("none", "same-origin")


def host_name(host: str) -> str:
    """Return the name or address of a Host header without the port; empty if it is neither."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").lower()
        return str(ipaddress.ip_address(name)) if ":" in name else name
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by a name or an address that no other machine can have."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _network_location(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
