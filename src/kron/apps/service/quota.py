"""Quotas: how many schedules a tenant may have, and how often it may start runs by hand."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kron.apps.service.caller import Caller
from kron.apps.service.config import Config
from kron.clock import Timer
from kron.errors import KronError
from kron.store import Store

FRESH = 10.0  # seconds for which a count is believed, with what was added since


class Quotas:
    """Counts by tenant. Several services of one store may together exceed a quota by what they add in 10 seconds."""

    def __init__(self, store: Store, timer: Timer, config: Config) -> None:
        self.store, self.timer, self.config = store, timer, config
        self.counts: dict[str, tuple[float, int]] = {}
        self.pending: Counter[str] = Counter()  # admitted, and perhaps not written yet
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.buckets: dict[str, tuple[float, float]] = {}

    @asynccontextmanager
    async def room(self, caller: Caller, *identities: str) -> AsyncIterator[None]:
        """Keep room for schedules until they are written; QUOTA if the tenant may not have so many."""
        async with self.room_for(caller, identities) as refused:
            if refused:
                raise self.full()
            yield

    @asynccontextmanager
    async def room_for(self, caller: Caller, identities: Sequence[str]) -> AsyncIterator[frozenset[str]]:
        """Keep room for as many of the schedules as the tenant may have, until they are written; the others."""
        tenant = caller.tenant
        async with self.locks[tenant]:
            refused, taken = await self._judge(caller, identities)
            self.pending[tenant] += taken
        try:
            yield refused
        finally:
            self.pending[tenant] -= taken

    def full(self) -> KronError:
        """Why a schedule is refused."""
        message = f"there are {self.config.schedules_per_tenant} schedules already"
        return KronError("QUOTA", message, hint="delete some, or ask for more room")

    def spend(self, caller: Caller, starts: int = 1) -> None:
        """Refuse to start more runs by hand than a minute may have."""
        rate = self.config.triggers_per_minute
        if rate == 0:
            hint = "the operator has set TRIGGERS_PER_MINUTE to 0"
            raise KronError("FORBIDDEN", "this service starts no runs by hand", hint=hint)
        now, starts = self.timer.monotonic(), min(starts, rate)  # what is more than a minute's worth takes all of it
        then, left = self.buckets.get(caller.tenant, (now, float(rate)))
        left = min(float(rate), left + (now - then) * rate / 60)
        if left < starts:
            wait = int((starts - left) * 60 / rate) + 1
            message = f"no more than {rate} runs a minute are started by hand"
            raise KronError("QUOTA", message, hint=f"try again in {wait} s", details={"retry_after": wait})
        self.buckets[caller.tenant] = (now, left - starts)

    async def _judge(self, caller: Caller, identities: Sequence[str]) -> tuple[frozenset[str], int]:
        """Which of the schedules there is no room for, and for how many room is taken."""
        most, wanted = self.config.schedules_per_tenant, list(dict.fromkeys(identities))
        at, count = self.counts.get(caller.tenant, (float("-inf"), 0))
        if self.timer.monotonic() - at < FRESH and count + len(wanted) <= most:
            self.counts[caller.tenant] = (at, count + len(wanted))  # not all may be new; that is found out later
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
