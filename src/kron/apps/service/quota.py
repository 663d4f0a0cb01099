"""Quotas: number of schedules per tenant, and rate of manual runs."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kron.apps.service.auth.caller import Caller
from kron.apps.service.config import Config
from kron.engine.clock import Timer
from kron.engine.store import Store
from kron.errors import AccessDenied, InvalidInput, QuotaExceeded

COUNT_TRUST_SECONDS = 10.0  # seconds for which a count is trusted, plus what was added since


class Quotas:
    """Counts per tenant. Several services on one store can exceed a quota by what they add together in 10 seconds."""

    def __init__(self, store: Store, timer: Timer, config: Config) -> None:
        self.store, self.timer, self.config = store, timer, config
        self.counts: dict[str, tuple[float, int]] = {}
        self.pending: Counter[str] = Counter()  # admitted, and possibly not yet written
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.buckets: dict[str, tuple[float, float]] = {}

    @asynccontextmanager
    async def room(self, caller: Caller, *identities: str) -> AsyncIterator[None]:
        """Reserve room for schedules until they are written. Raise QUOTA if the limit does not allow all of them."""
        async with self.room_for(caller, identities) as refused:
            if refused:
                raise self.full()
            yield

    @asynccontextmanager
    async def room_for(self, caller: Caller, identities: Sequence[str]) -> AsyncIterator[frozenset[str]]:
        """Reserve room for as many schedules as the limit allows, until they are written. Yield the others."""
        tenant = caller.tenant
        async with self.locks[tenant]:
            refused, reserved = await self._reserve(caller, identities)
            self.pending[tenant] += reserved
        try:
            yield refused
        finally:
            self.pending[tenant] -= reserved

    def full(self) -> QuotaExceeded:
        """Return the error for a schedule above the limit."""
        message = f"limit of {self.config.max_schedules_per_tenant} schedules reached"
        return QuotaExceeded("QUOTA", message, hint="delete schedules, or ask the operator for a higher limit")

    def spend(self, caller: Caller, starts: int = 1) -> None:
        """Count manual runs. All of them must fit into the quota.

        Raises:
            AccessDenied: Manual runs are disabled.
            InvalidInput: These are more runs than the quota of a minute.
            QuotaExceeded: The limit per minute is reached.
        """
        rate, tokens = self._rate(), self._tokens(caller.tenant)
        if starts > rate:
            message = f"the request starts {starts} runs, and the limit is {rate} manual runs per minute"
            raise InvalidInput("TOO_MANY", message, hint=f"request at most {rate} runs at once")
        if tokens < starts:
            raise self._exceeded(starts - tokens)
        self.buckets[caller.tenant] = (self.timer.monotonic(), tokens - starts)

    def batch_size(self, size: int) -> int:
        """Return how many manual runs one batch can start: `size`, or fewer if the quota of a minute is smaller.

        Raises:
            AccessDenied: Manual runs are disabled.
        """
        return min(size, self._rate())

    def _rate(self) -> int:
        rate = self.config.max_triggers_per_minute
        if rate == 0:
            hint = "ask the operator to raise MAX_TRIGGERS_PER_MINUTE, which is 0"
            raise AccessDenied("FORBIDDEN", "manual runs are disabled", hint=hint)
        return rate

    def _tokens(self, tenant: str) -> float:
        """Return how many manual runs a tenant can start now. They come back evenly, all within a minute."""
        rate, now = self.config.max_triggers_per_minute, self.timer.monotonic()
        last_time, tokens = self.buckets.get(tenant, (now, float(rate)))
        return min(float(rate), tokens + (now - last_time) * rate / 60)

    def _exceeded(self, missing: float) -> QuotaExceeded:
        rate = self.config.max_triggers_per_minute
        wait = int(missing * 60 / rate) + 1
        message = f"limit of {rate} manual runs per minute reached"
        return QuotaExceeded("QUOTA", message, hint=f"retry in {wait} s", details={"retry_after": wait})

    async def _reserve(self, caller: Caller, identities: Sequence[str]) -> tuple[frozenset[str], int]:
        """Return the schedules for which there is no room, and the number for which room is reserved."""
        limit, names = self.config.max_schedules_per_tenant, list(dict.fromkeys(identities))
        counted_at, count = self.counts.get(caller.tenant, (float("-inf"), 0))
        if self.timer.monotonic() - counted_at < COUNT_TRUST_SECONDS and count + len(names) <= limit:
            # Corrected by the next count if some exist already.
            self.counts[caller.tenant] = (counted_at, count + len(names))
            return frozenset(), len(names)
        states = await self.store.get(names)
        new = [identity for identity, state in zip(names, states, strict=True) if state is None or state.deleted]
        if not new:
            return frozenset(), 0
        counted_at, count = self.timer.monotonic(), len(await self.store.identities("", limit + 1, caller.prefix))
        count += self.pending[caller.tenant]
        reserved = max(0, min(len(new), limit - count))
        self.counts[caller.tenant] = (counted_at, count + reserved)
        return frozenset(new[reserved:]), reserved
