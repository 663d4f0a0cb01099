"""Viewers: people with open pages, in a process of its own: `python -m benchmarks.ui.viewers PORT ADDRESS…`.

Each opens its page and the stream of changes, as the script of the pages does: after a message it loads the page again,
never two at once, and a message that arrives meanwhile is handled afterwards. Besides, one of them opens a page every
second, as people do who go from page to page. Ends after a line on standard input, and answers with how many pages were
loaded and how many were refused.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from itertools import cycle

READ_SIZE = 65_536
OPEN_SECONDS = 1.0  # between two pages that are opened


class PageViewer:
    """Person with an open page."""

    def __init__(self, port: int, address: str) -> None:
        self.port, self.address = port, address
        self.changed, self.loaded, self.refused = asyncio.Event(), 0, 0

    async def view(self) -> None:
        """Load the page, and again after each message."""
        self.changed.set()
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                await self.changed.wait()
                self.changed.clear()
                await self.load()
        finally:
            listening.cancel()

    async def load(self) -> None:
        """Load the page."""
        reader, writer = await self._request(self.address, "close")
        body = await reader.read()
        writer.close()
        if b" 200 OK" in body[:30]:
            self.loaded += 1
        else:
            self.refused += 1

    async def _listen(self) -> None:
        tenant = "/".join(self.address.split("/")[:3]) if self.address.startswith("/t/") else ""
        reader, _ = await self._request(f"{tenant}/stream", "keep-alive")
        while part := await reader.read(READ_SIZE):
            if b"event: changed" in part:
                self.changed.set()

    async def _request(self, address: str, connection: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: {connection}\r\n\r\n".encode())
        return reader, writer


async def open_pages(viewers: list[PageViewer]) -> None:
    """Open a page every second, in turn."""
    for viewer in cycle(viewers):
        await asyncio.sleep(OPEN_SECONDS)
        await viewer.load()


async def view(port: int, addresses: list[str]) -> None:
    """View until standard input has a line."""
    viewers = [PageViewer(port, address) for address in addresses]
    tasks = [asyncio.create_task(work) for work in (*(viewer.view() for viewer in viewers), open_pages(viewers))]
    await asyncio.to_thread(sys.stdin.readline)
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
    print(json.dumps([sum(viewer.loaded for viewer in viewers), sum(viewer.refused for viewer in viewers)]), flush=True)


if __name__ == "__main__":
    asyncio.run(view(int(sys.argv[1]), sys.argv[2:]))
