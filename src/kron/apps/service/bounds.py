"""Maximum lengths of request bodies."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kron.apps.service.problem import error_response
from kron.errors import InvalidInput

MAX_BODY_BYTES = 64 * 1024
MAX_DEFINITION_BYTES = 256 * 1024  # a payload of 64 KiB, also if its characters are written as escapes
LIMITS_BY_PREFIX = {  # bytes by path prefix; the first one that fits applies
    "/v1/schedules:bulk": 256 * 1024 * 1024,
    "/v1/workflows/": 1024 * 1024,
    "/v1/schedules": MAX_DEFINITION_BYTES,
    "/v1/preview": MAX_DEFINITION_BYTES,
}


class Bounded:
    """Middleware that rejects bodies that are too long, independent of their headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count the bytes of its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit, received = (
            next((limit for path, limit in LIMITS_BY_PREFIX.items() if scope["path"].startswith(path)), MAX_BODY_BYTES),
            0,
        )
        headers = dict(scope["headers"])
        content_length = headers.get(b"content-length", b"0")
        if not content_length.isdigit() or int(content_length) > limit:
            await error_response(_too_large(limit))(scope, receive, send)
            return

        async def counted_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        await self.app(scope, counted_receive, send)


def _too_large(limit: int) -> InvalidInput:
    return InvalidInput(
        "TOO_LARGE", f"the body is longer than {limit} bytes", hint="split the request into smaller ones"
    )
