"""Bridge: one request to the dashboard from outside its event loop, read whole and answered whole.

An application of another framework, or one in another thread, has no ASGI connection in the loop of the scheduler.
Pages are short, so they need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope

from kron.apps.dashboard.access import Viewer
from kron.apps.dashboard.form import MAX_FORM_BYTES
from kron.errors import InvalidInput

VIEWER = "kron.viewer"  # key of a scope: the viewer, decided where the request arrived


class WebRequest(NamedTuple):
    """Request to a page."""

    method: str
    path: str  # below the path at which the dashboard is mounted, decoded
    root: str  # path at which the dashboard is mounted
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]  # names in lower case
    body: bytes
    scheme: str = "http"
    client: str = ""


class WebResponse(NamedTuple):
    """Response with a page."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def headers_of(environ: Mapping[str, object]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of a WSGI environment."""
    names = {"CONTENT_TYPE": "content-type", "CONTENT_LENGTH": "content-length"}
    names |= {key: key[5:].replace("_", "-").lower() for key in environ if key.startswith("HTTP_")}
    return tuple((name.encode(), str(environ[key]).encode("latin-1")) for key, name in names.items() if key in environ)


async def viewer_of_scope(request: Request) -> Viewer | None:
    """Return the viewer that was decided where the request arrived: the access of a dashboard behind a bridge."""
    viewer: Viewer | None = request.scope[VIEWER]
    return viewer


async def answered(app: ASGIApp, request: WebRequest, viewer: Viewer | None) -> WebResponse:
    """Return the response of the dashboard to a request whose viewer is known."""
    start: Message = {"status": 500, "headers": []}
    parts = list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            start = message
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(_scope_of(request, viewer), receive, send)
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
    return WebResponse(start["status"], headers, b"".join(parts))


def _scope_of(request: WebRequest, viewer: Viewer | None) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.root + request.path,
        "raw_path": b"",
        "root_path": request.root,
        "query_string": request.query,
        "headers": list(request.headers),
        "client": (request.client, 0) if request.client else None,
        "server": None,
        VIEWER: viewer,
    }


async def request_of(scope: Scope, receive: Receive) -> WebRequest:
    """Return a request of ASGI, with its body.

    Raises:
        InvalidInput: The body is longer than any form.
    """
    body, is_whole = b"", False
    while not is_whole:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_FORM_BYTES:
            raise InvalidInput("TOO_LARGE", f"the form is longer than {MAX_FORM_BYTES:,d} bytes", hint="write less")
        is_whole = message["type"] != "http.request" or not message.get("more_body", False)
    root = scope.get("root_path", "")
    client = scope.get("client")
    return WebRequest(
        scope["method"],
        scope["path"].removeprefix(root),
        root,
        scope["query_string"],
        tuple((bytes(name), bytes(value)) for name, value in scope["headers"]),
        body,
        scope.get("scheme", "http"),
        client[0] if client else "",
    )
