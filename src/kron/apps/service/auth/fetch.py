"""HTTPS download of a small document, with limits on size and time."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from http.client import HTTPException, HTTPSConnection
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

MAX_DOCUMENT_BYTES = 256 * 1024
TIMEOUT_SECONDS = 4.0  # total time limit, which also ends responses that arrive slowly


async def fetch(url: str, seconds: float = TIMEOUT_SECONDS) -> bytes:
    """Return the content of a URL. Redirects are not followed.

    Raises:
        OSError: The URL did not answer completely in time.
        ValueError: The response is not usable.
    """
    loop, connection = asyncio.get_running_loop(), _connection(url, seconds)
    content_future: asyncio.Future[bytes] = loop.create_future()

    def download() -> None:
        try:
            content = _get(connection, url)
        except (OSError, HTTPException, ValueError) as error:
            _set_result(loop, content_future, None, error)
        else:
            _set_result(loop, content_future, content, None)
        finally:
            connection.close()

    # A separate thread: a DNS lookup of minutes then blocks nothing that other requests need.
    threading.Thread(target=download, name="kron-fetch", daemon=True).start()
    try:
        return await asyncio.wait_for(content_future, seconds)
    except TimeoutError:
        raise OSError(f"no complete response within {seconds:.0f} s") from None
    finally:
        with suppress(OSError, AttributeError):
            connection.sock.shutdown(socket.SHUT_RDWR)  # wakes up the thread, which then ends


def _connection(url: str, seconds: float) -> HTTPSConnection:
    parts, proxy = urlsplit(url), getproxies().get("https", "")
    host, port = parts.hostname or "", parts.port or 443
    if not proxy or proxy_bypass(host):
        return HTTPSConnection(host, port, timeout=seconds)
    proxy_parts = urlsplit(proxy)
    connection = HTTPSConnection(proxy_parts.hostname or "", proxy_parts.port or 3128, timeout=seconds)
    connection.set_tunnel(host, port)
    return connection


def _get(connection: HTTPSConnection, url: str) -> bytes:
    parts = urlsplit(url)
    connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
    with connection.getresponse() as response:
        if response.status != 200:
            raise ValueError(f"the response has status {response.status}")
        content = response.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"the response is longer than {MAX_DOCUMENT_BYTES} bytes")
    return content


def _set_result(
    loop: asyncio.AbstractEventLoop,
    content_future: asyncio.Future[bytes],
    content: bytes | None,
    error: Exception | None,
) -> None:
    def set_result() -> None:
        if content_future.done():
            return
        if error is not None:
            content_future.set_exception(error if isinstance(error, OSError | ValueError) else OSError(str(error)))
        elif content is not None:
            content_future.set_result(content)

    with suppress(RuntimeError):  # the event loop is closed: there is no waiter
        loop.call_soon_threadsafe(set_result)
