"""Webhook options: method, additional headers and accepted status codes of a webhook. Only a safe subset is allowed.

A header must not change how the request is framed, routed or authenticated: a receiver trusts the signature of the
body, and a proxy trusts headers such as X-Forwarded-For. Values are not secret: each reader of the schedule sees them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kron.errors import InvalidInput, clip
from kron.timing.job import Webhook

DEFAULT = Webhook()
METHODS = ("POST", "PUT", "PATCH")  # each has a body, which carries the run and is signed
MAX_HEADERS = 16
MAX_VALUE_LENGTH = 1_024
_HEADER = re.compile(r"X-[A-Za-z0-9](?:[A-Za-z0-9-]{0,60}[A-Za-z0-9])?", re.ASCII | re.IGNORECASE)
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?|", re.ASCII)
# Names that proxies and web servers interpret: the client's address, the host, the path, the method, the authenticated
# user, or a file to send. Others of a family, such as X-Client-Id, are for the receiver.
_FORBIDDEN = (
    *("x-client-cert", "x-client-dn", "x-cluster-client-ip", "x-true-client-ip", "x-remote-addr", "x-remote-ip"),
    *("x-remote-user", "x-host", "x-scheme", "x-url", "x-sendfile"),
)
_FORBIDDEN_BEGINNINGS = (
    *("x-forwarded", "x-real-ip", "x-original", "x-http-method", "x-method", "x-rewrite", "x-client-ip", "x-accel-"),
    *("x-envoy-", "x-arr-", "x-ssl-", "x-authenticated-", "x-auth-request-", "x-webauth-", "x-proxy-", "x-appengine-"),
    *("x-amzn-oidc-", "x-goog-authenticated-", "x-goog-iap-", "x-ms-client-principal"),
)
_CODES = re.compile(r"([2-5][0-9]{2})(?:-([2-5][0-9]{2}))?", re.ASCII)
_CODES_HINT = "use status codes from 200 to 599, such as 200-299,409"


def webhook_of(method: str, headers: Mapping[str, str], success: str) -> Webhook | None:
    """Return the options of a webhook; None if all of them are the default.

    Args:
        method: HTTP method.
        headers: Additional headers.
        success: Status codes that accept the run: codes and ranges, separated by commas.

    Raises:
        InvalidInput: An option is not allowed; `details` names the field.
    """
    if method not in METHODS:
        raise _bad_option("method", f"{clip(method)!r} is not allowed", f"use {', '.join(METHODS)}: a body is sent")
    if len(headers) > MAX_HEADERS:
        raise _bad_option("headers", f"{len(headers)} headers are more than {MAX_HEADERS}", "use the payload for data")
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or _is_interpreted(name.lower()):
            hint = "use names that begin with X-, and none that proxies interpret, such as X-Forwarded-For"
            raise _bad_option("headers", f"{clip(name)!r} is not allowed", hint)
        if len(value) > MAX_VALUE_LENGTH or not _VALUE.fullmatch(value):
            hint = f"use up to {MAX_VALUE_LENGTH:,} printable ASCII characters, and no space at either end"
            raise _bad_option("headers", f"the value of {name!r} is not allowed", hint)
    names = [name.lower() for name in headers]
    if len(set(names)) < len(names):
        raise _bad_option("headers", "a name occurs twice, in different cases", "keep one of them")
    webhook = Webhook(method, tuple(sorted(headers.items())), _canonical_codes(success))
    return None if webhook == DEFAULT else webhook


def _is_interpreted(name: str) -> bool:
    """Return whether proxies or web servers interpret a header with this name, in lower case."""
    return name in _FORBIDDEN or name.startswith(_FORBIDDEN_BEGINNINGS)


def accepts(webhook: Webhook | None, status: int) -> bool:
    """Return whether a status code accepts the run."""
    return 200 <= status < 300 if webhook is None else status in _codes(webhook.success)


def _canonical_codes(text: str) -> str:
    codes = sorted(_codes(text))
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


@lru_cache(256)
def _codes(text: str) -> frozenset[int]:
    codes = set[int]()
    for part in text.replace(" ", "").split(",")[:100]:
        match = _CODES.fullmatch(part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise _bad_option("success", f"{clip(part)!r} is no status code or range", _CODES_HINT)
        codes.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(codes)


def _bad_option(field: str, reason: str, hint: str) -> InvalidInput:
    name = f"webhook.{field}"
    return InvalidInput("BAD_FIELD", f"invalid field {name}: {reason}", hint=hint, details={"field": name})
