"""Forms: the only way in which a page changes something. A forged request is refused before its fields are used."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import parse_qs

from starlette.requests import Request

from kron.apps.browser_request import is_of_another_site
from kron.errors import AccessDenied, InvalidInput

MAX_FORM_BYTES = 256 * 1024
MAX_FIELDS = 2_000
MAX_NAMES = 40  # names of fields; fewer than an audit log records, so that a form cannot hide a field behind others
MAX_DIGITS = 15  # of a number
SECRET_COOKIE = "kron_form"  # noqa: S105  # name of the cookie
TOKEN_FIELD = "form_token"  # noqa: S105  # name of the field
REQUEST_FIELD = "request"  # names the request, so that a form that is sent twice acts once

_REQUEST = re.compile(r"ui-[0-9a-f]{24}")

Fields = dict[str, list[str]]


def new_secret() -> str:
    """Return a new secret for the cookie of a browser."""
    return secrets.token_urlsafe(32)


def token_of(secret: str, session: str) -> str:
    """Return the token that forms carry: bound to the cookie of the browser and to the session."""
    return hmac.new(secret.encode(), b"form:" + session.encode(), sha256).hexdigest()


def ticket_of(secret: str, session: str, words: Sequence[str]) -> str:
    """Return the proof that this browser has sent a form with these words. An address that has it may go on with it."""
    return hmac.new(secret.encode(), json.dumps(["ticket", session, *words]).encode(), sha256).hexdigest()


def new_request() -> str:
    """Return a name for the request of a form."""
    return f"ui-{secrets.token_hex(12)}"


def text_of(fields: Fields, name: str) -> str:
    """Return the text of a field; empty if the form has none."""
    return fields.get(name, [""])[0].strip()


def whole_number(text: str, otherwise: int) -> int:
    """Return the number of a field; `otherwise` if it is no number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else otherwise


def request_of(fields: Fields) -> str:
    """Return the name of the request that a form carries.

    Raises:
        InvalidInput: The form has no name that this dashboard made.
    """
    name = text_of(fields, REQUEST_FIELD)
    if not _REQUEST.fullmatch(name):
        raise InvalidInput("BAD_REQUEST", "the form does not name its request", hint="send the form of the page")
    return name


async def read_form(request: Request, session: str) -> Fields:
    """Return the fields of a form that a page of this dashboard has made.

    Raises:
        AccessDenied: The request comes from another site, or its token is missing or foreign.
        InvalidInput: The form cannot be read, or is too long.
    """
    if is_of_another_site(request.headers):
        raise AccessDenied("FOREIGN_ORIGIN", "the request comes from another site", hint="use the form of the page")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise InvalidInput("MEDIA_TYPE", "the request is not a form", hint="send the form of the page")
    fields = _parsed(await _body(request))
    if len(fields) > MAX_NAMES:
        message = f"the form has fields of {len(fields):,d} names"
        raise InvalidInput("BAD_REQUEST", message, hint="send the form of the page")
    if any("\0" in text for texts in fields.values() for text in texts):
        raise InvalidInput("BAD_REQUEST", "the form has a NUL character", hint="send the form of the page")
    secret, (token,) = request.cookies.get(SECRET_COOKIE, ""), fields.get(TOKEN_FIELD, [""])[:1]
    if not secret or not hmac.compare_digest(token.encode(), token_of(secret, session).encode()):
        hint = "open the page again, and send its form"
        raise AccessDenied("FORBIDDEN", "the form has no valid token of this browser", hint=hint)
    return fields


async def _body(request: Request) -> bytes:
    parts, length = list[bytes](), 0
    async for part in request.stream():
        length += len(part)
        if length > MAX_FORM_BYTES:
            message = f"the form is longer than {MAX_FORM_BYTES:,d} bytes"
            raise InvalidInput("TOO_LARGE", message, hint="write less")
        parts.append(part)
    return b"".join(parts)


def _parsed(body: bytes) -> Fields:
    try:
        return parse_qs(
            body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise InvalidInput("BAD_REQUEST", "the form cannot be read", hint="send the form of the page") from None
