"""Network stream for httpcore2 on asyncio: one connection, with TLS by the event loop."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import httpcore2

MAX_BUFFERED_BYTES = 256 * 1024  # bytes received and not read; above this, reading is paused
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # a host that is gone is noticed in a minute


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """Connection to a server. It sends a request in one piece, when its answer is awaited."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._incoming, self._outgoing = bytearray(), bytearray()
        self._has_ended = self._is_paused = False
        self._failure: Exception | None = None  # for which the connection was lost
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent: the server has not closed the connection, and sent nothing unasked."""
        return not self._has_ended and not self._incoming

    def connection_made(self, transport: Any) -> None:
        """Keep the transport (asyncio callback). The system asks a silent server whether it is there."""
        self._transport = transport
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def data_received(self, data: bytes) -> None:
        """Keep received bytes (asyncio callback)."""
        self._incoming += data
        if len(self._incoming) > MAX_BUFFERED_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake_reader()

    def eof_received(self) -> bool:
        """Note that the server has closed the connection (asyncio callback)."""
        self._has_ended = True
        self._wake_reader()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is gone (asyncio callback)."""
        self._has_ended, self._failure = True, exc
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Keep a part of the request until its answer is awaited."""
        self._outgoing += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Send the request, and return bytes of the answer; none at the end of the connection.

        Raises:
            httpcore2.ConnectError: The connection was closed before the request was sent.
            httpcore2.ReadTimeout: Nothing came for `timeout` seconds.
            httpcore2.ReadError: The connection was lost.
        """
        self._send()
        if not self._incoming and not self._has_ended:
            await self._more(timeout)
        data = bytes(self._incoming[:max_bytes])
        del self._incoming[:max_bytes]
        if self._is_paused and len(self._incoming) <= MAX_BUFFERED_BYTES and not self._has_ended:
            self._is_paused = False
            self._transport.resume_reading()
        if not data and self._failure is not None:
            raise httpcore2.ReadError(str(self._failure)) from self._failure
        return data

    async def _more(self, timeout: float | None) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                await self._waiter
        except TimeoutError:
            raise httpcore2.ReadTimeout(f"nothing received for {timeout:g} s") from None
        finally:
            self._waiter = None

    def _send(self) -> None:
        if not self._outgoing:
            return
        if self._has_ended:
            raise httpcore2.ConnectError("the connection was closed before the request")
        self._transport.write(bytes(self._outgoing))
        self._outgoing.clear()

    async def aclose(self) -> None:
        """Close the connection at once."""
        self._has_ended = True
        self._transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """Answer httpcore2 whether bytes can be read, and other questions as the transport does."""
        return not self.is_usable if info == "is_readable" else self._transport.get_extra_info(info)
