"""Name resolution for webhooks: a bounded number of threads, a time limit, a cache, and limits per name and tenant.

The system's `getaddrinfo` blocks a thread while a name server is silent, and it cannot be canceled. A lookup therefore
keeps its slots until its thread ends, even if the launch that requested it has given up.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_address

from kron.launchers.gate import Gates

MAX_LOOKUPS = 32  # concurrent lookups
MAX_LOOKUPS_PER_NAME = 4  # concurrent lookups below one registrable name
MAX_LOOKUPS_PER_PAYER = 8  # concurrent lookups for one tenant
MAX_PENDING_NAMES = 1_000  # maximum number of names that are being looked up or wait for a lookup
TIMEOUT_SECONDS = 3.0  # time limit of a launch for one name
CACHE_SECONDS = 30.0  # seconds that addresses stay in the cache
NEGATIVE_CACHE_SECONDS = 3.0  # seconds that a name without addresses stays in the cache
MAX_CACHED_NAMES = 4_096  # maximum number of names in the cache

Lookup = Callable[[str], Sequence[str]]


def lookup(host: str) -> list[str]:
    """Return the addresses that the system's resolver gives for a name. Blocks."""
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class Resolver:
    """Caching resolver. Concurrent calls for the same name share one lookup."""

    def __init__(self, lookup: Lookup = lookup, *, seconds: float = TIMEOUT_SECONDS) -> None:
        self.lookup, self.seconds = lookup, seconds
        self.cache = OrderedDict[str, tuple[float, list[str]]]()  # expiry (monotonic seconds) and addresses
        self.pending = dict[str, tuple[float, asyncio.Task[list[str]]]]()
        self.names, self.payers, self.threads = (
            Gates(MAX_LOOKUPS_PER_NAME),
            Gates(MAX_LOOKUPS_PER_PAYER),
            Gates(MAX_LOOKUPS),
        )

    async def __call__(self, host: str, payer: str = "") -> list[str]:
        """Return the addresses of a host, on behalf of the tenant `payer`.

        Raises:
            TimeoutError: The lookup did not end in time.
            OSError: The host has no address, or too many lookups are pending.
        """
        if _is_address(host):
            return [host]
        host = host.lower()
        now = time.monotonic()
        cached = self.cache.get(host)
        if cached and cached[0] > now:
            return _require_addresses(cached[1], host)
        started, task = self.pending.get(host) or (now, self._start_lookup(host, payer))
        if now - started >= self.seconds:
            raise TimeoutError(f"the lookup of {host} did not end in time")
        async with asyncio.timeout(self.seconds):
            return _require_addresses(await asyncio.shield(task), host)

    def _start_lookup(self, host: str, payer: str) -> asyncio.Task[list[str]]:
        if len(self.pending) >= MAX_PENDING_NAMES:
            raise OSError("too many pending name lookups")
        task = asyncio.get_running_loop().create_task(self._look_up(host, payer))
        self.pending[host] = time.monotonic(), task
        task.add_done_callback(lambda ended: self._forget_lookup(host, ended))
        return task

    def _forget_lookup(self, host: str, task: asyncio.Task[list[str]]) -> None:
        self.pending.pop(host, None)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: the tasks that await the lookup get the error

    async def _look_up(self, host: str, payer: str) -> list[str]:
        async with AsyncExitStack() as slots:
            async with asyncio.timeout(self.seconds):
                await slots.enter_async_context(self.names.of(registrable(host)))
                if payer:
                    await slots.enter_async_context(self.payers.of(payer))
                await slots.enter_async_context(self.threads.of(""))
            addresses = await _look_up_in_thread(self.lookup, host)
        self._remember(host, addresses)
        return addresses

    def _remember(self, host: str, addresses: list[str]) -> None:
        self.cache[host] = time.monotonic() + (CACHE_SECONDS if addresses else NEGATIVE_CACHE_SECONDS), addresses
        self.cache.move_to_end(host)
        while len(self.cache) > MAX_CACHED_NAMES:
            self.cache.popitem(last=False)


def registrable(host: str) -> str:
    """Return the registrable part of a name, below which its owner can create any number of names.

    This is an estimate without a list of public suffixes.
    """
    labels = host.rstrip(".").split(".")
    two_part_suffix = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3  # co.uk, com.au
    return ".".join(labels[-3:] if two_part_suffix else labels[-2:])


async def _look_up_in_thread(lookup: Lookup, host: str) -> list[str]:
    """Look up a name in a daemon thread, which does not delay the end of the process. Empty if it has no addresses."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[list[str]] = loop.create_future()

    def set_result(addresses: list[str]) -> None:
        if not result.done():
            result.set_result(addresses)

    def look_up() -> None:
        try:
            addresses = list(lookup(host))
        except Exception:  # unknown name, failing name server, label too long: no addresses now
            addresses = []
        try:
            loop.call_soon_threadsafe(set_result, addresses)
        except RuntimeError:
            return  # the loop was closed meanwhile

    threading.Thread(target=look_up, name="kron-resolver", daemon=True).start()
    return await result


def _require_addresses(addresses: list[str], host: str) -> list[str]:
    if not addresses:
        raise OSError(f"{host} has no address")
    return addresses


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
