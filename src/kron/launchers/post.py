"""One HTTP request to a vetted address, by httpcore. The response is not trusted.

HTTP/1.1 only; no redirects, no proxies, no cookies, no compression. Size and time of the response are bounded. Whether
any byte of a request may have left is known exactly: a request is never sent twice, and a request that was sent is
never reported as not sent.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import httpcore

from kron.engine.failpoint import fail_point
from kron.launchers.address import Network, forbidden
from kron.launchers.connection import Connection, Connections, Misled
from kron.launchers.gate import Gates
from kron.launchers.reason import reason_of
from kron.launchers.resolver import Resolver
from kron.launchers.target import Url

Resolve = Callable[[str, str], Awaitable[Sequence[str]]]  # host and tenant -> addresses of the host

MAX_HEAD_BYTES = 128 * 1024  # up to the end of the headers, interim responses included
MAX_BODY_BYTES = 64 * 1024
MAX_EXCERPT_BYTES = 2_000  # of any other body, as the cause of a failure
STATUSES_WITH_BODY = frozenset({200, 201, 202, 409})  # statuses whose body can hold a report or the run's key
BODY_SECONDS = 1.0  # seconds for such a body; the status is valid without it
DRAIN_SECONDS = 0.1  # seconds for any other body, so that its connection can be reused
MAX_REQUESTS_PER_HOST = 100  # concurrent requests to one origin
MAX_REQUESTS = 2_000  # concurrent requests: as many as a worker launches at once, slow ones included
_NETWORK_ERRORS = (OSError, httpcore.NetworkError, httpcore.ProtocolError)  # TimeoutError is an OSError


class NotSent(Exception):
    """Error: no byte of the request left this host, so the target does not have the run."""


class Forbidden(NotSent):
    """Error: the target resolves to an address that must not be called."""


class PartiallySent(Exception):
    """Error: at least a part of the request was sent, and its result is unknown."""


class Reply(NamedTuple):
    """HTTP response. Header names are in lower case; the body may be cut."""

    status: int
    headers: dict[str, str]
    body: bytes


class Poster:
    """HTTP client that posts to vetted addresses only.

    Args:
        allowed: Networks that may be called although they are not public.
        resolve: Resolves host names; None uses a `Resolver`.
        tls: TLS settings; None uses Python's defaults.
    """

    def __init__(
        self,
        *,
        allowed: Sequence[Network] = (),
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.allowed, self.resolve = allowed, resolve or Resolver()
        self.connections = Connections(tls or ssl.create_default_context())
        self.hosts, self.all = Gates(MAX_REQUESTS_PER_HOST), Gates(MAX_REQUESTS)

    async def post(
        self,
        url: Url,
        headers: Mapping[str, str],
        body: bytes,
        seconds: float,
        payer: str = "",
        *,
        method: str = "POST",
    ) -> Reply:
        """Send one request and return the response.

        Args:
            url: Target URL.
            headers: Headers of the request.
            body: Body of the request.
            seconds: Time limit of the whole call.
            payer: Tenant on whose behalf the host name is resolved; empty without tenants.
            method: Method of the request: one that has a body.

        Raises:
            Forbidden: The address must not be called. Nothing was sent.
            NotSent: No response in time, and nothing was sent.
            PartiallySent: No response in time, and something may have been sent.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        request = _request(method, url, headers, body)
        try:
            async with asyncio.timeout_at(deadline) as limit:
                addresses = await self._vetted_addresses(url, payer)
                async with self.hosts.of(f"{url.scheme}://{url.authority}"), self.all.of(""):
                    limit.reschedule(None)  # from here on each step has its own time limit
                    return await self._deliver(url, addresses, request, deadline)
        except Misled:
            raise Forbidden("the peer of the connection is not the vetted address") from None
        except _NETWORK_ERRORS as error:
            raise NotSent(reason_of(error)) from None

    def close(self) -> None:
        """Close all idle connections."""
        self.connections.close()

    async def _vetted_addresses(self, url: Url, payer: str) -> list[str]:
        """Return the addresses of the host, all vetted.

        The name is resolved for an open connection as well, because its addresses can change.
        """
        addresses = list(await self.resolve(url.host, payer))
        if not addresses or any(forbidden(address, self.allowed) for address in addresses):
            raise Forbidden("the target resolves to an address that must not be called")
        return addresses

    async def _deliver(self, url: Url, addresses: list[str], request: httpcore.Request, deadline: float) -> Reply:
        """Send the request once. An idle connection that was closed before anything was sent is skipped."""
        while connection := self.connections.reuse(url, addresses):
            try:
                return await self._exchange(connection, request, deadline)
            except NotSent:
                continue
        return await self._exchange(await self.connections.connect(url, addresses, deadline), request, deadline)

    async def _exchange(self, connection: Connection, request: httpcore.Request, deadline: float) -> Reply:
        stream = connection.stream
        stream.begin(MAX_HEAD_BYTES)
        try:
            async with asyncio.timeout_at(deadline):
                response = await connection.http.handle_async_request(request)
            headers = _first_values(response.headers)
            reply = Reply(response.status, headers, await self._read_body(connection, response, deadline))
            fail_point("K6")
            self.connections.keep(connection)
            return reply
        except _NETWORK_ERRORS as error:
            stream.transport.abort()
            raise (PartiallySent if stream.sent else NotSent)(reason_of(error)) from None
        except BaseException:
            stream.transport.abort()
            raise

    async def _read_body(self, connection: Connection, response: httpcore.Response, deadline: float) -> bytes:
        """Return the first bytes of a body. If the body is cut, its connection is not reused."""
        is_needed, body = response.status in STATUSES_WITH_BODY, bytearray()
        connection.stream.bytes_left = MAX_BODY_BYTES
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(min(deadline, now + (BODY_SECONDS if is_needed else DRAIN_SECONDS))):
                async for part in response.aiter_stream():
                    body += part
        except _NETWORK_ERRORS:
            pass
        finally:
            await response.aclose()
        return bytes(body[: MAX_BODY_BYTES if is_needed else MAX_EXCERPT_BYTES])


def _request(method: str, url: Url, headers: Mapping[str, str], body: bytes) -> httpcore.Request:
    all_headers = {"Host": url.authority, **headers, "Content-Length": str(len(body)), "Accept-Encoding": "identity"}
    target = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.path)
    return httpcore.Request(method, target, headers=list(all_headers.items()), content=body)


def _first_values(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers by name in lower case. Of a repeated header the first one counts."""
    values: dict[str, str] = {}
    for name, value in headers:
        values.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return values
