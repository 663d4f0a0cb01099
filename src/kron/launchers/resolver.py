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

THREADS = 32  # concurrent lookups
PER_NAME = 4  # concurrent lookups below one registrable name
PER_PAYER = 8  # concurrent lookups for one tenant
WAITING = 1_000  # maximum number of names that are being looked up or wait for a lookup
SECONDS = 3.0  # time limit of a launch for one name
KEPT = 30.0  # seconds that addresses stay in the cache
REFUSED = 3.0  # seconds that a name without addresses stays in the cache
NAMES = 4_096  # maximum number of names in the cache

Lookup = Callable[[str], Sequence[str]]


def lookup(host: str) -> list[str]:
    """Return the addresses that the system's resolver gives for a name. Blocks."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Resolver:
    """Caching resolver. Concurrent calls for the same name share one lookup."""

    def __init__(self, lookup: Lookup = lookup, *, seconds: float = SECONDS) -> None:
        self.lookup, self.seconds = lookup, seconds
        self.cache = OrderedDict[str, tuple[float, list[str]]]()  # expiry (monotonic seconds) and addresses
        self.flights = dict[str, tuple[float, asyncio.Task[list[str]]]]()
        self.names, self.payers, self.threads = Gates(PER_NAME), Gates(PER_PAYER), Gates(THREADS)

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
        known = self.cache.get(host)
        if known and known[0] > now:
            return _some(known[1], host)
        began, flight = self.flights.get(host) or (now, self._fly(host, payer))
        if now - began >= self.seconds:
            raise TimeoutError(f"the lookup of {host} did not end in time")
        async with asyncio.timeout(self.seconds):
            return _some(await asyncio.shield(flight), host)

    def _fly(self, host: str, payer: str) -> asyncio.Task[list[str]]:
        if len(self.flights) >= WAITING:
            raise OSError("too many pending name lookups")
        flight = asyncio.get_running_loop().create_task(self._look_up(host, payer))
        self.flights[host] = time.monotonic(), flight
        flight.add_done_callback(lambda done: self._landed(host, done))
        return flight

    def _landed(self, host: str, done: asyncio.Task[list[str]]) -> None:
        self.flights.pop(host, None)
        if not done.cancelled():
            done.exception()  # marks it as retrieved: the tasks that await the lookup get the error

    async def _look_up(self, host: str, payer: str) -> list[str]:
        async with AsyncExitStack() as shares:
            async with asyncio.timeout(self.seconds):
                await shares.enter_async_context(self.names.of(registrable(host)))
                if payer:
                    await shares.enter_async_context(self.payers.of(payer))
                await shares.enter_async_context(self.threads.of(""))
            addresses = await _in_thread(self.lookup, host)
        self._remember(host, addresses)
        return addresses

    def _remember(self, host: str, addresses: list[str]) -> None:
        self.cache[host] = time.monotonic() + (KEPT if addresses else REFUSED), addresses
        self.cache.move_to_end(host)
        while len(self.cache) > NAMES:
            self.cache.popitem(last=False)


def registrable(host: str) -> str:
    """Return the registrable part of a name, below which its owner can create any number of names.

    This is an estimate without a list of public suffixes.
    """
    labels = host.rstrip(".").split(".")
    short = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3  # co.uk, com.au
    return ".".join(labels[-3:] if short else labels[-2:])


async def _in_thread(lookup: Lookup, host: str) -> list[str]:
    """Look up a name in a daemon thread, which does not delay the end of the process. Empty if it has no addresses."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str]) -> None:
        if not found.done():
            found.set_result(addresses)

    def work() -> None:
        try:
            addresses = list(lookup(host))
        except Exception:  # unknown name, failing name server, label too long: no addresses now
            addresses = []
        try:
            loop.call_soon_threadsafe(tell, addresses)
        except RuntimeError:
            return  # the loop was closed meanwhile

    threading.Thread(target=work, name="kron-resolver", daemon=True).start()
    return await found


def _some(addresses: list[str], host: str) -> list[str]:
    if not addresses:
        raise OSError(f"{host} has no address")
    return addresses


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
