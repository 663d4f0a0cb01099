"""Concurrency limits per name. The semaphore of a name exists only while a task holds it or waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gates:
    """Semaphores by name: at most `limit` holders for each name."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.gates = dict[str, tuple[asyncio.Semaphore, int]]()  # and its number of holders and waiters

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Wait for a slot under a name and hold it inside the context."""
        gate, users = self.gates.get(name) or (asyncio.Semaphore(self.limit), 0)
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
