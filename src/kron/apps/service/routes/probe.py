"""Probe server: /metrics, /healthz (or /livez) and /readyz of a worker, and nothing else. Standard library only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kron.apps.service.config_error import unavailable_address
from kron.engine.metrics import CONTENT_TYPE

MAX_CONNECTIONS = 50  # maximum number of concurrent connections; further ones are closed
REQUEST_TIMEOUT_SECONDS = 5.0  # time limit for a request and its response
MAX_REQUEST_BYTES = 8_192
JSON = "application/json"
LIVE = ("/healthz", "/livez")
REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error"}
REASONS |= {503: "Service Unavailable"}


class Probe:
    """Server of GET and HEAD requests, one per connection."""

    def __init__(self, metrics: Callable[[], Awaitable[str]], not_ready: Callable[[], Awaitable[str]]) -> None:
        self.metrics, self.not_ready, self.open = metrics, not_ready, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self.open += 1
        try:
            if self.open <= MAX_CONNECTIONS:
                await asyncio.wait_for(self._exchange(reader, writer), REQUEST_TIMEOUT_SECONDS)
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        status, kind, body = await self._respond(method, rest.partition(" ")[0].partition("?")[0])
        lines = [f"HTTP/1.1 {status} {REASONS[status]}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        text = "\r\n".join([*lines, "Cache-Control: no-store", "Connection: close", "", ""])
        writer.write(text.encode("latin-1") + (b"" if method == "HEAD" else body))
        await writer.drain()

    async def _respond(self, method: str, path: str) -> tuple[int, str, bytes]:
        if method not in ("GET", "HEAD"):
            return 405, JSON, _status_body("only GET and HEAD are allowed")
        try:
            if path == "/metrics":
                return 200, CONTENT_TYPE, (await self.metrics()).encode()
            if path == "/readyz":
                problem = await self.not_ready()
                return (503 if problem else 200), JSON, _status_body(problem or "ok")
        except Exception as error:
            return 500, JSON, _status_body(type(error).__name__)
        return (200, JSON, _status_body("ok")) if path in LIVE else (404, JSON, _status_body("not found"))


def _status_body(text: str) -> bytes:
    return json.dumps({"status": text}).encode()


@asynccontextmanager
async def probing(address: tuple[str, int], probe: Probe) -> AsyncIterator[int]:
    """Listen inside the context, and yield the port."""
    host, port = address
    try:
        server = await asyncio.start_server(probe.serve, host, port, limit=MAX_REQUEST_BYTES)
    except OSError as error:
        raise unavailable_address(f"{host}:{port}", error) from None
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
