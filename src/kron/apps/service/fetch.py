"""Fetch: a small document over https, bounded in size and in time, whatever the other side does."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from http.client import HTTPException, HTTPSConnection
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

LARGEST_BYTES = 256 * 1024
SECONDS = 4.0  # for all of it: an answer that drips is cut off


async def fetch(url: str, seconds: float = SECONDS) -> bytes:
    """The content of a URL; OSError or ValueError if there is none in time. Redirects are not followed."""
    loop, connection = asyncio.get_running_loop(), _connection(url, seconds)
    told: asyncio.Future[bytes] = loop.create_future()

    def work() -> None:
        try:
            content = _get(connection, url)
        except (OSError, HTTPException, ValueError) as error:
            _tell(loop, told, None, error)
        else:
            _tell(loop, told, content, None)
        finally:
            connection.close()

    # A thread of its own: a name that is looked up for minutes holds nothing that others need.
    threading.Thread(target=work, name="kron-fetch", daemon=True).start()
    try:
        return await asyncio.wait_for(told, seconds)
    except TimeoutError:
        raise OSError(f"no complete answer within {seconds:.0f} s") from None
    finally:
        with suppress(OSError, AttributeError):
            connection.sock.shutdown(socket.SHUT_RDWR)  # the thread wakes up, and ends


def _connection(url: str, seconds: float) -> HTTPSConnection:
    parts, proxy = urlsplit(url), getproxies().get("https", "")
    host, port = parts.hostname or "", parts.port or 443
    if not proxy or proxy_bypass(host):
        return HTTPSConnection(host, port, timeout=seconds)
    through = urlsplit(proxy)
    connection = HTTPSConnection(through.hostname or "", through.port or 3128, timeout=seconds)
    connection.set_tunnel(host, port)
    return connection


def _get(connection: HTTPSConnection, url: str) -> bytes:
    parts = urlsplit(url)
    connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
    with connection.getresponse() as answer:
        if answer.status != 200:
            raise ValueError(f"the answer has the status {answer.status}")
        content = answer.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"the answer is longer than {LARGEST_BYTES} bytes")
    return content


def _tell(
    loop: asyncio.AbstractEventLoop, told: asyncio.Future[bytes], content: bytes | None, error: Exception | None
) -> None:
    def tell() -> None:
        if told.done():
            return
        if error is not None:
            told.set_exception(error if isinstance(error, OSError | ValueError) else OSError(str(error)))
        elif content is not None:
            told.set_result(content)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(tell)
