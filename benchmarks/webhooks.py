"""Launches a second and bytes of memory for each, of the webhook client: with connections used again, and without.

    python -m benchmarks.webhooks

Both post to one receiver in another process, in turns. Exits non-zero if using connections again costs more.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

from kron.launchers.address import networks
from kron.launchers.gate import Gates
from kron.launchers.post import Poster
from kron.launchers.target import Url, read_url

ROUNDS, LAUNCHES, TOGETHER, HELD = 5, 2_000, 50, 400
HEADERS = {"Content-Type": "application/cloudevents+json", "User-Agent": "kron", "webhook-id": "0" * 64}
BODY = b"x" * 900  # about the size of an event
Post = Callable[[Url, dict[str, str], bytes, float], Awaitable[Any]]


async def _serve(ports: Any) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lower = head.lower()
                await reader.readexactly(int(lower.split(b"content-length: ")[1].split(b"\r\n")[0]))
                if b"POST /hang" in head:
                    await asyncio.sleep(60)
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                if b"connection: close" in lower:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1_000)
    ports.put(server.sockets[0].getsockname()[1])
    await asyncio.sleep(600)


def receiver(ports: Any) -> None:
    """Receive webhooks until ended."""
    asyncio.run(_serve(ports))


async def speed(post: Post, url: Url) -> tuple[float, float]:
    """Launches a second, so many at once, and microseconds of CPU for each: other load does not change those."""
    waiting = iter(range(LAUNCHES))

    async def hand() -> None:
        for _ in waiting:
            await post(url, HEADERS, BODY, 30.0)

    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(hand() for _ in range(TOGETHER)))
    return LAUNCHES / (time.perf_counter() - began), (time.process_time() - used) / LAUNCHES * 1e6


async def weight(post: Post, url: Url) -> float:
    """Bytes of memory for each launch that waits for its answer."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    held = [asyncio.create_task(post(url, HEADERS, BODY, 30.0)) for _ in range(HELD)]
    await asyncio.sleep(3)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)
    return (after - before) / HELD


def poster(*, again: bool) -> Poster:
    """A client that uses connections again, or makes one for each launch."""
    made = Poster(allowed=networks(["127.0.0.0/8"]))
    if not again:
        made.connections.keep = made.connections.drop  # type: ignore[method-assign]
    made.hosts = Gates(HELD)
    return made


async def compare(posts: dict[str, Post], port: int, scheme: str = "http") -> dict[str, float]:
    """Measure each in turns, print, and return the medians of their microseconds of CPU."""
    fast, hang = (read_url(f"{scheme}://127.0.0.1:{port}/{name}", plain=True) for name in ("hook", "hang"))
    for post in posts.values():
        await speed(post, fast)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in posts}
    for _ in range(ROUNDS):
        for name, post in posts.items():
            found[name].append(await speed(post, fast))
    print(f"{'':24}{'launches/s':>22}{'CPU us/launch':>20}{'KB/launch':>12}")
    for name, post in posts.items():
        rates, costs = zip(*found[name], strict=True)
        held = await weight(post, hang)
        rate = f"{statistics.median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f})"
        cost = f"{statistics.median(costs):,.0f} ({min(costs):,.0f}-{max(costs):,.0f})"
        print(f"{name:24}{rate:>22}{cost:>20}{held / 1024:12.1f}")
    return {name: statistics.median(cost for _, cost in each) for name, each in found.items()}


def main(more: dict[str, Post] | None = None) -> int:
    """Run it. `more` are other clients, for a comparison."""
    ports: Any = multiprocessing.Queue()
    process = multiprocessing.Process(target=receiver, args=(ports,), daemon=True)
    process.start()
    again, anew = poster(again=True), poster(again=False)
    try:
        found = asyncio.run(
            compare({"connections used again": again.post, "one each": anew.post, **(more or {})}, ports.get())
        )
    finally:
        process.terminate()
    ratio = found["one each"] / found["connections used again"]
    print(f"one connection each: {ratio:.2f} times the CPU of connections used again")
    return 0 if ratio >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
