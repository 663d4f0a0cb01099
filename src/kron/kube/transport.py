"""HTTP transport to one server: connections that are reused, as many as there are concurrent requests.

HTTP is that of httpcore2, on a network stream of our own. The default transport of httpx2 needs more CPU time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from kron.kube.network import Stream

IDLE_SECONDS = 30.0  # for which a connection waits for its next request; an API server closes it after 90
Connection = httpcore2.AsyncHTTP11Connection
_Release = Callable[[Connection], Awaitable[None]]


class DirectTransport(httpx2.AsyncBaseTransport):
    """Transport without a proxy.

    Args:
        url: Address of the server.
        tls: Settings of TLS.
        idle_seconds: Time for which a connection waits for its next request.
    """

    def __init__(self, url: httpx2.URL, tls: ssl.SSLContext, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self.origin, self.tls, self.idle_seconds = _url_of(url).origin, tls, idle_seconds
        tls.set_alpn_protocols(["http/1.1"])
        self.open = set[Connection]()
        self._idle: list[Connection] = []  # the one used last at the end

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return the response as soon as its headers are there."""
        with _errors_of_httpx2():
            connection = await self._idle_connection() or await self._connect(request.extensions["timeout"]["connect"])
            try:
                response = await connection.handle_async_request(_request_of(request))
            except BaseException:
                await self._release(connection)
                raise
        body = _Body(self._release, connection, response)
        return httpx2.Response(
            response.status, headers=response.headers, stream=body, extensions=dict(response.extensions)
        )

    async def aclose(self) -> None:
        """Close all connections."""
        self._idle.clear()
        while self.open:
            await self.open.pop().aclose()

    async def _idle_connection(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await self._close(connection)
        return None

    async def _connect(self, seconds: float | None) -> Connection:
        host, tls = self.origin.host.decode("ascii"), self.tls if self.origin.scheme == b"https" else None
        try:
            async with asyncio.timeout(seconds):
                _, stream = await asyncio.get_running_loop().create_connection(
                    Stream,
                    host,
                    self.origin.port,
                    ssl=tls,
                    server_hostname=host if tls else None,
                )
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"not connected after {seconds:g} s") from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        connection = Connection(self.origin, stream, keepalive_expiry=self.idle_seconds)
        self.open.add(connection)
        return connection

    async def _release(self, connection: Connection) -> None:
        """Keep a connection for the next request if it can have one, and close those that were idle for too long."""
        if connection in self.open and connection.is_idle():
            self._idle.append(connection)
        else:
            await self._close(connection)
        while self._idle and self._idle[0].has_expired():
            await self._close(self._idle.pop(0))

    async def _close(self, connection: Connection) -> None:
        self.open.discard(connection)
        await connection.aclose()


class _Body(httpx2.AsyncByteStream):
    """Body of a response. Its end releases the connection."""

    def __init__(self, release: _Release, connection: Connection, response: httpcore2.Response) -> None:
        self._release, self._connection, self._response = release, connection, response

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        with _errors_of_httpx2():
            async with aclosing(self._response.aiter_stream()) as parts:
                async for part in parts:
                    yield part

    async def aclose(self) -> None:
        """Release the connection. It is closed if the body was not read to its end."""
        await self._response.aclose()
        await self._release(self._connection)


def is_proxied(url: httpx2.URL) -> bool:
    """Return whether the environment names a proxy for an address."""
    proxies = getproxies()
    return bool(proxies.get(url.scheme) or proxies.get("all")) and not proxy_bypass(url.host)


def _request_of(request: httpx2.Request) -> httpcore2.Request:
    return httpcore2.Request(
        request.method,
        _url_of(request.url),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def _url_of(url: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


@contextmanager
def _errors_of_httpx2() -> Iterator[None]:
    """Turn the errors of httpcore2 into those of httpx2, which have the same names."""
    try:
        yield
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        raise getattr(httpx2, type(error).__name__)(str(error)) from error
