"""HTTP connections: opened to vetted addresses only, and reused for the same origin while they are fresh."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import zip_longest

import httpcore

from kron.launchers.stream import Stream
from kron.launchers.target import Url

CONNECT_SECONDS = 4.0  # maximum seconds for one address, TLS handshake included
MAX_ADDRESSES = 4  # maximum number of addresses that are tried
IDLE_SECONDS = 1.5  # seconds that an idle connection is kept: less than servers wait before they close it
MAX_IDLE_CONNECTIONS = 100  # maximum number of idle connections


class Misled(Exception):
    """Error: the peer of a connection is not the vetted address."""


@dataclass(slots=True, eq=False)
class Connection:
    """A connection with its origin (whose name TLS has verified) and its peer address."""

    origin: httpcore.Origin
    address: str
    stream: Stream
    http: httpcore.AsyncHTTP11Connection
    used: bool = False  # it has served an earlier request
    timer: asyncio.TimerHandle | None = None


class Connections:
    """Connection pool. A connection is reused only if both its origin and its address match."""

    def __init__(self, tls: ssl.SSLContext, *, idle: float = IDLE_SECONDS) -> None:
        self.tls, self.idle = tls, idle
        self.waiting = dict[Connection, None]()  # the longest idle one first

    def reuse(self, url: Url, addresses: Sequence[str]) -> Connection | None:
        """Return an idle connection to this origin whose address is still vetted; None if there is none."""
        origin = origin_of(url)
        for connection in reversed(self.waiting):
            if connection.origin == origin and connection.address in addresses:
                self._detach(connection)
                if connection.http.is_available() and not connection.stream.unusable:
                    return connection
                connection.stream.transport.abort()
                return self.reuse(url, addresses)
        return None

    def keep(self, connection: Connection) -> None:
        """Keep a connection for the next request, or close it if it cannot be reused."""
        if not connection.http.is_idle() or connection.stream.unusable or not _is_fully_read(connection.http):
            connection.stream.transport.abort()
            return
        connection.used = True
        self.waiting[connection] = None
        connection.timer = asyncio.get_running_loop().call_later(self.idle, self.drop, connection)
        if len(self.waiting) > MAX_IDLE_CONNECTIONS:
            self.drop(next(iter(self.waiting)))

    def drop(self, connection: Connection) -> None:
        """Close a connection."""
        self._detach(connection)
        connection.stream.transport.abort()

    def close(self) -> None:
        """Close all idle connections."""
        for connection in list(self.waiting):
            self.drop(connection)

    def _detach(self, connection: Connection) -> None:
        self.waiting.pop(connection, None)
        if connection.timer is not None:
            connection.timer.cancel()
            connection.timer = None

    async def connect(self, url: Url, addresses: Sequence[str], deadline: float) -> Connection:
        """Connect to the first address that answers before `deadline` (time of the event loop).

        Raises:
            OSError: No address answered.
            Misled: The peer is not the address that was requested.
        """
        loop, last_error = asyncio.get_running_loop(), OSError("no address")
        tls, name = (self.tls, url.host) if url.scheme == "https" else (None, None)
        candidates = in_turn(addresses)[:MAX_ADDRESSES]
        for number, address in enumerate(candidates):
            now = loop.time()
            seconds = min(CONNECT_SECONDS, (deadline - now) / (len(candidates) - number))
            try:
                async with asyncio.timeout_at(now + seconds):
                    _, stream = await loop.create_connection(Stream, address, url.port, ssl=tls, server_hostname=name)
            except OSError as error:  # TimeoutError is an OSError
                last_error = error
                continue
            if ip_address(stream.get_extra_info("peername")[0]) != ip_address(address):
                stream.transport.abort()
                raise Misled(address)
            origin = origin_of(url)
            return Connection(origin, address, stream, httpcore.AsyncHTTP11Connection(origin, stream))
        raise last_error


def _is_fully_read(http: httpcore.AsyncHTTP11Connection) -> bool:
    """Return whether no bytes followed the response. httpcore would read them as the response to the next request.

    httpcore has no public API for this check. Where the private one is missing, no connection is reused.
    """
    parser = getattr(http, "_h11_state", None)
    return parser is not None and parser.trailing_data == (b"", False)


def in_turn(addresses: Sequence[str]) -> list[str]:
    """Return the addresses with IPv4 and IPv6 alternating, so that an unreachable family does not use every attempt."""
    first = [address for address in addresses if (":" in address) == (":" in addresses[0])]
    second = [address for address in addresses if address not in first]
    return [address for pair in zip_longest(first, second) for address in pair if address is not None]


def origin_of(url: Url) -> httpcore.Origin:
    """Return the origin of a URL: scheme, host name and port."""
    return httpcore.Origin(url.scheme.encode(), url.host.encode(), url.port)
