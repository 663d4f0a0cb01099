"""Stream: a connection to a vetted address, as httpcore uses one. It knows whether anything of a request has left."""

from __future__ import annotations

import asyncio
from typing import Any

import httpcore

from kron.failpoint import fail_point

MOST_BUFFERED = 64 * 1024  # bytes that came and were not read yet; then the peer has to wait


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A request is held back until it is complete, and leaves in one piece when its answer is waited for.

    `sent` is false as long as certainly nothing of the present request has left. `left` is how many bytes may still
    be read; one more is an error. Time limits are the caller's: he cancels.
    """

    def __init__(self) -> None:
        self.transport: Any = None
        self.incoming, self.outgoing = bytearray(), bytearray()
        self.ended = self.sent = self.paused = False
        self.left = 0
        self.waiter: asyncio.Future[None] | None = None

    def begin(self, most: int) -> None:
        """Begin a request whose answer may have so many bytes."""
        self.sent, self.left = False, most
        self.outgoing.clear()

    @property
    def spoken(self) -> bool:
        """Whether the peer has said something, or hung up, without being asked. Then no request may follow."""
        return bool(self.incoming) or self.ended

    def connection_made(self, transport: Any) -> None:
        """Asyncio: it stands."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Asyncio: something came."""
        self.incoming += data
        if len(self.incoming) > MOST_BUFFERED and not self.paused:
            self.paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Asyncio: nothing more will come."""
        self.ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio: it is gone."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Take a part of a request."""
        self.outgoing += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Let the request go, and return what comes; empty at the end."""
        self._send()
        if not self.incoming and not self.ended:
            self.waiter = asyncio.get_running_loop().create_future()
            await self.waiter
        data = bytes(self.incoming[:max_bytes])
        del self.incoming[:max_bytes]
        if self.paused and not self.ended and len(self.incoming) <= MOST_BUFFERED:
            self.paused = False
            self.transport.resume_reading()
        self.left -= len(data)
        if self.left < 0:
            raise httpcore.ReadError("the answer is too long")
        return data

    def _send(self) -> None:
        if not self.outgoing:
            return
        if not self.sent and self.spoken:  # it was closed while it was not in use: nothing leaves
            raise httpcore.ReadError("the connection was closed before the request")
        self.sent = True
        self.transport.write(bytes(self.outgoing))
        self.outgoing.clear()
        fail_point("K5")

    async def aclose(self) -> None:
        """Hang up at once. What was not sent is dropped."""
        self.ended = True
        self.transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """Httpcore asks whether it is readable; the rest is the transport's."""
        return self.spoken if info == "is_readable" else self.transport.get_extra_info(info)
