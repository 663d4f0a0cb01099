"""Network stream for httpcore that records whether any byte of a request has been sent."""

from __future__ import annotations

import asyncio
from typing import Any

import httpcore

from kron.engine.failpoint import fail_point

MAX_BUFFERED_BYTES = 64 * 1024  # bytes received and not read; above this, reading is paused


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """Connection to a vetted address. It buffers a request and sends it in one piece when the response is awaited.

    `sent` is false while certainly no byte of the current request has been sent. `bytes_left` is the number of bytes
    that may still be read; one more is an error. The caller enforces time limits by cancellation.
    """

    def __init__(self) -> None:
        self.transport: Any = None
        self.incoming, self.outgoing = bytearray(), bytearray()
        self.ended = self.sent = self.paused = False
        self.bytes_left = 0
        self.waiter: asyncio.Future[None] | None = None

    def begin(self, max_bytes: int) -> None:
        """Begin a request whose response may have up to `max_bytes` bytes."""
        self.sent, self.bytes_left = False, max_bytes
        self.outgoing.clear()

    @property
    def unusable(self) -> bool:
        """Whether the peer has sent unrequested bytes or closed the connection. Then no request may follow."""
        return bool(self.incoming) or self.ended

    def connection_made(self, transport: Any) -> None:
        """Store the transport (asyncio callback)."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Buffer received bytes (asyncio callback)."""
        self.incoming += data
        if len(self.incoming) > MAX_BUFFERED_BYTES and not self.paused:
            self.paused = True
            self.transport.pause_reading()
        self._wake_reader()

    def eof_received(self) -> bool:
        """Note the end of the stream (asyncio callback)."""
        self.ended = True
        self._wake_reader()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the loss of the connection (asyncio callback)."""
        self.ended = True
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Buffer a part of the request. Nothing is sent yet."""
        self.outgoing += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Send the buffered request, then return received bytes; empty at the end of the stream.

        Raises:
            httpcore.ReadError: The response is too long, or the peer closed the connection before the request.
        """
        self._send()
        if not self.incoming and not self.ended:
            self.waiter = asyncio.get_running_loop().create_future()
            await self.waiter
        data = bytes(self.incoming[:max_bytes])
        del self.incoming[:max_bytes]
        if self.paused and not self.ended and len(self.incoming) <= MAX_BUFFERED_BYTES:
            self.paused = False
            self.transport.resume_reading()
        self.bytes_left -= len(data)
        if self.bytes_left < 0:
            raise httpcore.ReadError("the response is too long")
        return data

    def _send(self) -> None:
        if not self.outgoing:
            return
        if not self.sent and self.unusable:  # the peer closed it while it was idle: send nothing
            raise httpcore.ReadError("the connection was closed before the request")
        self.sent = True
        self.transport.write(bytes(self.outgoing))
        self.outgoing.clear()
        fail_point("K5")

    async def aclose(self) -> None:
        """Close the connection at once. Unsent bytes are dropped."""
        self.ended = True
        self.transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """Answer `is_readable` for httpcore; pass every other question to the transport."""
        return self.unusable if info == "is_readable" else self.transport.get_extra_info(info)
