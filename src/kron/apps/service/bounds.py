"""Maximum lengths of request bodies."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kron.apps.service.problem import answer
from kron.errors import InvalidInput

BODY = 64 * 1024
LARGER = {"/v1/schedules:bulk": 256 * 1024 * 1024, "/v1/workflows/": 1024 * 1024}  # maximum bytes by path prefix


class Bounded:
    """Middleware that rejects bodies that are too long, independent of their headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count the bytes of its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most, read = next((most for path, most in LARGER.items() if scope["path"].startswith(path)), BODY), 0
        headers = dict(scope["headers"])
        said = headers.get(b"content-length", b"0")
        if not said.isdigit() or int(said) > most:
            await answer(_too_large(most))(scope, receive, send)
            return

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise _too_large(most)
            return message

        await self.app(scope, counted, send)


def _too_large(most: int) -> InvalidInput:
    return InvalidInput(
        "TOO_LARGE", f"the body is longer than {most} bytes", hint="split the request into smaller ones"
    )
