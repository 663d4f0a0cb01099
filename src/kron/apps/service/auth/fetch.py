"""HTTPS requests for a small document, with limits on size and time."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from kron.apps.browser_request import is_loopback

MAX_DOCUMENT_BYTES = 256 * 1024
TIMEOUT_SECONDS = 4.0  # total time limit, which also ends responses that arrive slowly


class Response(NamedTuple):
    """Response of a server: its status and its content."""

    status: int
    content: bytes


async def fetch(url: str, seconds: float = TIMEOUT_SECONDS) -> bytes:
    """Return the content of a URL. Redirects are not followed.

    Raises:
        OSError: The URL did not answer completely in time.
        ValueError: The response is not usable.
    """
    response = await send(url, seconds=seconds)
    if response.status != 200:
        raise ValueError(f"the response has status {response.status}")
    return response.content


async def send(
    url: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float = TIMEOUT_SECONDS,
) -> Response:
    """Send a form to a URL, or get its content if there is no form, and return the response, whatever its status.

    Raises:
        OSError: The URL did not answer completely in time.
        ValueError: The response is too long, or the URL is not protected.
    """
    loop, connection = asyncio.get_running_loop(), _connection(url, seconds)
    response_future: asyncio.Future[Response] = loop.create_future()

    def exchange() -> None:
        try:
            response = _response(connection, url, form, headers or {})
        except (OSError, HTTPException, ValueError) as error:
            _set_result(loop, response_future, None, error)
        else:
            _set_result(loop, response_future, response, None)
        finally:
            connection.close()

    # A separate thread: a DNS lookup of minutes then blocks nothing that other requests need.
    threading.Thread(target=exchange, name="kron-fetch", daemon=True).start()
    try:
        return await asyncio.wait_for(response_future, seconds)
    except TimeoutError:
        raise OSError(f"no complete response within {seconds:.0f} s") from None
    finally:
        with suppress(OSError, AttributeError):
            connection.sock.shutdown(socket.SHUT_RDWR)  # wakes up the thread, which then ends


def _connection(url: str, seconds: float) -> HTTPConnection:
    """Return a connection with TLS; without it only to this machine, for trials."""
    parts, proxy = urlsplit(url), getproxies().get("https", "")
    host = parts.hostname or ""
    if parts.scheme == "http" and is_loopback(host):
        return HTTPConnection(host, parts.port or 80, timeout=seconds)
    if parts.scheme != "https":
        raise ValueError("the URL is not protected by TLS")
    if not proxy or proxy_bypass(host):
        return HTTPSConnection(host, parts.port or 443, timeout=seconds)
    proxy_parts = urlsplit(proxy)
    connection = HTTPSConnection(proxy_parts.hostname or "", proxy_parts.port or 3128, timeout=seconds)
    connection.set_tunnel(host, parts.port or 443)
    return connection


def _response(
    connection: HTTPConnection, url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]
) -> Response:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if form is None:
        connection.request("GET", path, headers=dict(headers))
    else:
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        connection.request("POST", path, urlencode(form), {**kind, **headers})
    with connection.getresponse() as response:
        content = response.read(MAX_DOCUMENT_BYTES + 1)
        if len(content) > MAX_DOCUMENT_BYTES:
            raise ValueError(f"the response is longer than {MAX_DOCUMENT_BYTES} bytes")
        return Response(response.status, content)


def _set_result(
    loop: asyncio.AbstractEventLoop,
    response_future: asyncio.Future[Response],
    response: Response | None,
    error: Exception | None,
) -> None:
    def set_result() -> None:
        if response_future.done():
            return
        if error is not None:
            response_future.set_exception(error if isinstance(error, OSError | ValueError) else OSError(str(error)))
        elif response is not None:
            response_future.set_result(response)

    with suppress(RuntimeError):  # the event loop is closed: there is no waiter
        loop.call_soon_threadsafe(set_result)
