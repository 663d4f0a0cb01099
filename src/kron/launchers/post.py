"""One POST over a connection of its own, to an address that was vetted. It believes nothing that it is answered.

No redirects, no proxies, no cookies, no compression; a bounded answer in a bounded time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from kron.failpoint import fail_point
from kron.launchers.address import Network, forbidden
from kron.launchers.target import Url

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

HEAD = 32 * 1024
LINES = 100
BODY = 64 * 1024
ADDRESSES = 4  # that are tried
TOLD = frozenset({200, 201, 202, 409})  # the statuses whose body may say something of the run
GLANCE = 1.0  # seconds for that body; what is known of the status is known without it


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


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Poster:
    """Posts to vetted addresses."""

    def __init__(
        self,
        *,
        allowed: Sequence[Network] = (),
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.allowed, self.resolve = allowed, resolve
        self.tls = tls or ssl.create_default_context()

    async def post(self, url: Url, headers: Mapping[str, str], body: bytes, seconds: float) -> Reply:
        """The reply. NotSent or HalfSent if there is none."""
        sent, writer = False, None
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await self._connect(url, await self._vetted(url))
                sent = True
                writer.write(_head(url, headers, len(body)) + body)
                fail_point("K5")
                await writer.drain()
                status, said = await _status(reader)
            reply = Reply(status, said, await _some(reader, said) if status in TOLD else b"")
            fail_point("K6")
            return reply
        except NotSent:
            raise
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError) as error:  # a timeout is an OSError too
            if sent:
                raise HalfSent(type(error).__name__) from None
            raise NotSent(type(error).__name__) from None
        finally:
            if writer is not None:
                writer.transport.abort()

    async def _vetted(self, url: Url) -> list[str]:
        addresses = list(await self.resolve(url.host, url.port))
        if not addresses or any(forbidden(address, self.allowed) for address in addresses):
            raise Forbidden("the address of the target may not be called")
        return addresses[:ADDRESSES]

    async def _connect(self, url: Url, addresses: list[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        failed: OSError = OSError("no address")
        tls, name = (self.tls, url.host) if url.scheme == "https" else (None, None)
        for address in addresses:
            try:
                reader, writer = await asyncio.open_connection(
                    address, url.port, limit=HEAD, ssl=tls, server_hostname=name
                )
            except TimeoutError:
                raise
            except OSError as error:
                failed = error
                continue
            peer = writer.get_extra_info("peername")[0]
            if ip_address(peer) != ip_address(address):
                writer.transport.abort()
                raise Forbidden("the connection leads elsewhere")
            return reader, writer
        raise failed


def _head(url: Url, headers: Mapping[str, str], length: int) -> bytes:
    lines = {"Host": url.authority, **headers, "Content-Length": str(length)}
    lines |= {"Connection": "close", "Accept-Encoding": "identity"}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    if text.count("\n") != len(lines):
        raise ValueError("a header has a line feed")
    return f"POST {url.path} HTTP/1.1\r\n{text}\r\n".encode("latin-1")


async def _status(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    for _ in range(10):  # interim answers
        status, headers = await _answered(reader)
        if not 100 <= status < 200:
            return status, headers
    raise ValueError("too many interim answers")


async def _answered(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first = (await reader.readuntil(b"\n")).decode("latin-1").split(None, 2)
    if len(first) < 2 or not first[0].startswith("HTTP/1.") or not (first[1].isdigit() and len(first[1]) == 3):
        raise ValueError("this is no HTTP")
    headers: dict[str, str] = {}
    for _ in range(LINES):
        line = (await reader.readuntil(b"\n")).decode("latin-1").strip()
        if not line:
            return int(first[1]), headers
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().lower(), value.strip())
    raise ValueError("too many headers")


async def _some(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    """The beginning of a body, for a glance at it. It may be cut, and is not decoded."""
    length = headers.get("content-length", "")
    wanted = min(BODY, int(length)) if length.isascii() and length.isdigit() and len(length) < 12 else 0
    try:
        async with asyncio.timeout(GLANCE):
            return await reader.readexactly(wanted)
    except asyncio.IncompleteReadError as error:
        return error.partial
    except OSError:
        return b""
