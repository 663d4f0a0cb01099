"""Quotas: how many schedules a tenant may have, and how often it may start runs by hand."""

from __future__ import annotations

import asyncio
from collections import defaultdict

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
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.buckets: dict[str, tuple[float, float]] = {}

    async def admit(self, caller: Caller, identity: str) -> None:
        """Refuse a new schedule of a tenant that has as many as it may."""
        most = self.config.schedules_per_tenant
        async with self.locks[caller.tenant]:
            at, count = self.counts.get(caller.tenant, (float("-inf"), 0))
            if self.timer.monotonic() - at < FRESH and count < most:  # it may be no new one; that is found out later
                self.counts[caller.tenant] = (at, count + 1)
                return
            (case,) = await self.store.get([identity])
            if case is not None and not case.deleted:
                return
            at, count = self.timer.monotonic(), len(await self.store.identities("", most + 1, caller.prefix))
            self.counts[caller.tenant] = (at, count + 1)
            if count >= most:
                raise KronError(
                    "QUOTA", f"there are {most} schedules already", hint="delete some, or ask for more room"
                )

    def spend(self, caller: Caller, starts: int = 1) -> None:
        """Refuse to start more runs by hand than a minute may have."""
        rate = self.config.triggers_per_minute
        now, starts = self.timer.monotonic(), min(starts, rate)  # what is more than a minute's worth takes all of it
        then, left = self.buckets.get(caller.tenant, (now, float(rate)))
        left = min(float(rate), left + (now - then) * rate / 60)
        if left < starts:
            wait = int((starts - left) * 60 / rate) + 1
            message = f"no more than {rate} runs a minute are started by hand"
            raise KronError("QUOTA", message, hint=f"try again in {wait} s", details={"retry_after": wait})
        self.buckets[caller.tenant] = (now, left - starts)
