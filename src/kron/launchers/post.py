"""One POST to an address that was vetted, by httpcore. It believes nothing that it is answered.

HTTP/1.1 only; no redirects, no proxies, no cookies, no compression; a bounded answer in a bounded time. Whether a
request may have left is known exactly: nothing is sent twice, and nothing that was sent is called unsent.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import httpcore

from kron.failpoint import fail_point
from kron.launchers.address import Network, forbidden
from kron.launchers.connection import Connection, Connections, Misled
from kron.launchers.gate import Gates
from kron.launchers.resolver import Resolver
from kron.launchers.target import Url

Resolve = Callable[[str, str], Awaitable[Sequence[str]]]  # the addresses of a host, on behalf of a tenant

HEAD = 128 * 1024  # bytes up to the end of the headers, interim answers included
BODY = 64 * 1024  # bytes of the body
TOLD = frozenset({200, 201, 202, 409})  # the statuses whose body may say something of the run
GLANCE = 1.0  # seconds for that body; what is known of the status is known without it
DRAIN = 0.1  # seconds for another body, so that its connection can be used again
PER_HOST = 100  # requests to one origin at once
MOST = 2_000  # requests at once: as many as a worker may launch, slow ones included
_FAILED = (OSError, httpcore.NetworkError, httpcore.ProtocolError)  # a timeout is an OSError


class NotSent(Exception):
    """Nothing has left: the target has it not."""


class Forbidden(NotSent):
    """The name leads where nobody may go."""


class HalfSent(Exception):
    """Something has left, and nobody knows what became of it."""


class Reply(NamedTuple):
    """What was answered."""

    status: int
    headers: dict[str, str]
    body: bytes


class Poster:
    """Posts to vetted addresses."""

    def __init__(
        self,
        *,
        allowed: Sequence[Network] = (),
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.allowed, self.resolve = allowed, resolve or Resolver()
        self.connections = Connections(tls or ssl.create_default_context())
        self.hosts, self.all = Gates(PER_HOST), Gates(MOST)

    async def post(self, url: Url, headers: Mapping[str, str], body: bytes, seconds: float, payer: str = "") -> Reply:
        """Return the reply. NotSent or HalfSent if there is none within so many seconds; `payer` is the tenant."""
        end = asyncio.get_running_loop().time() + seconds
        request = _request(url, headers, body)
        try:
            async with asyncio.timeout_at(end) as limit:
                addresses = await self._vetted(url, payer)
                async with self.hosts.of(f"{url.scheme}://{url.authority}"), self.all.of(""):
                    limit.reschedule(None)  # from here on each step has its own
                    return await self._deliver(url, addresses, request, end)
        except Misled:
            raise Forbidden("the connection leads elsewhere") from None
        except _FAILED as error:
            raise NotSent(type(error).__name__) from None

    def close(self) -> None:
        """Close the connections that wait for another request."""
        self.connections.close()

    async def _vetted(self, url: Url, payer: str) -> list[str]:
        """Return the addresses, also for a connection that stands already: names may change their mind."""
        addresses = list(await self.resolve(url.host, payer))
        if not addresses or any(forbidden(address, self.allowed) for address in addresses):
            raise Forbidden("the address of the target may not be called")
        return addresses

    async def _deliver(self, url: Url, addresses: list[str], request: httpcore.Request, end: float) -> Reply:
        """Send it once. A waiting connection that turns out to be closed before anything has left is passed over."""
        while connection := self.connections.again(url, addresses):
            try:
                return await self._exchange(connection, request, end)
            except NotSent:
                continue
        return await self._exchange(await self.connections.connect(url, addresses, end), request, end)

    async def _exchange(self, connection: Connection, request: httpcore.Request, end: float) -> Reply:
        stream = connection.stream
        stream.begin(HEAD)
        try:
            async with asyncio.timeout_at(end):
                response = await connection.http.handle_async_request(request)
            headers = _first(response.headers)
            reply = Reply(response.status, headers, await self._body(connection, response, end))
            fail_point("K6")
            self.connections.keep(connection)
            return reply
        except _FAILED as error:
            stream.transport.abort()
            raise (HalfSent if stream.sent else NotSent)(type(error).__name__) from None
        except BaseException:
            stream.transport.abort()
            raise

    async def _body(self, connection: Connection, response: httpcore.Response, end: float) -> bytes:
        """Return the beginning of a body. It may be cut; then its connection is not used again."""
        told, found = response.status in TOLD, bytearray()
        connection.stream.left = BODY
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(min(end, now + (GLANCE if told else DRAIN))):
                async for part in response.aiter_stream():
                    found += part
        except _FAILED:
            pass
        finally:
            await response.aclose()
        return bytes(found[:BODY]) if told else b""


def _request(url: Url, headers: Mapping[str, str], body: bytes) -> httpcore.Request:
    lines = {"Host": url.authority, **headers, "Content-Length": str(len(body)), "Accept-Encoding": "identity"}
    where = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.path)
    return httpcore.Request("POST", where, headers=list(lines.items()), content=body)


def _first(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers by their names in small letters; the first of those that are repeated."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found
