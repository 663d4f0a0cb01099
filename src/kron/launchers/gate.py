"""Gates: so many at once for each name. A gate exists only while somebody is in it or waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gates:
    """Bounds of concurrency by name."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.gates = dict[str, tuple[asyncio.Semaphore, int]]()  # and who is in it or waits

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Wait for a place under a name, and hold it."""
        gate, users = self.gates.get(name) or (asyncio.Semaphore(self.most), 0)
        self.gates[name] = gate, users + 1
        try:
            async with gate:
                yield
        finally:
            gate, users = self.gates[name]
            if users == 1:
                del self.gates[name]
            else:
                self.gates[name] = gate, users - 1
