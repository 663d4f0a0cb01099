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
from kron.errors import AccessDenied, QuotaExceeded

FRESH = 10.0  # seconds for which a count is trusted, plus what was added since


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
            refused, taken = await self._judge(caller, identities)
            self.pending[tenant] += taken
        try:
            yield refused
        finally:
            self.pending[tenant] -= taken

    def full(self) -> QuotaExceeded:
        """Return the error for a schedule above the limit."""
        message = f"limit of {self.config.max_schedules_per_tenant} schedules reached"
        return QuotaExceeded("QUOTA", message, hint="delete schedules, or ask the operator for a higher limit")

    def spend(self, caller: Caller, starts: int = 1) -> None:
        """Count manual runs. Raise QUOTA above the limit per minute."""
        rate = self.config.max_triggers_per_minute
        if rate == 0:
            hint = "ask the operator to raise MAX_TRIGGERS_PER_MINUTE, which is 0"
            raise AccessDenied("FORBIDDEN", "manual runs are disabled", hint=hint)
        now, starts = self.timer.monotonic(), min(starts, rate)  # a larger request uses up the whole minute
        then, left = self.buckets.get(caller.tenant, (now, float(rate)))
        left = min(float(rate), left + (now - then) * rate / 60)
        if left < starts:
            wait = int((starts - left) * 60 / rate) + 1
            message = f"limit of {rate} manual runs per minute reached"
            raise QuotaExceeded("QUOTA", message, hint=f"retry in {wait} s", details={"retry_after": wait})
        self.buckets[caller.tenant] = (now, left - starts)

    async def _judge(self, caller: Caller, identities: Sequence[str]) -> tuple[frozenset[str], int]:
        """Return the schedules for which there is no room, and the number for which room is reserved."""
        most, wanted = self.config.max_schedules_per_tenant, list(dict.fromkeys(identities))
        at, count = self.counts.get(caller.tenant, (float("-inf"), 0))
        if self.timer.monotonic() - at < FRESH and count + len(wanted) <= most:
            self.counts[caller.tenant] = (at, count + len(wanted))  # corrected by the next count if some exist already
            return frozenset(), len(wanted)
        cases = await self.store.get(wanted)
        new = [name for name, case in zip(wanted, cases, strict=True) if case is None or case.deleted]
        if not new:
            return frozenset(), 0
        at, count = self.timer.monotonic(), len(await self.store.identities("", most + 1, caller.prefix))
        count += self.pending[caller.tenant]
        taken = max(0, min(len(new), most - count))
        self.counts[caller.tenant] = (at, count + taken)
        return frozenset(new[taken:]), taken
