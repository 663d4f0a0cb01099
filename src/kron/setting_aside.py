"""Setting aside: schedules that cannot be read or committed here are reported and looked at later; the others go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kron.core.case import Case
from kron.errors import KronError
from kron.events import Event, Sink
from kron.store import Settlement, Store, Unreadable

REFUSALS = 20  # commits of one schedule that fail in a row; then it is set aside
FOR = 60_000  # milliseconds until it is looked at again
REMEMBERED = 10_000  # schedules whose refusals are counted
HOPELESS = frozenset({"STORE_REFUSED", "NOT_STORABLE", "CORRUPT_ROW"})  # of one schedule, and not of the store


class SettingAside:
    """Commits for a worker, and counts what is refused again and again."""

    def __init__(self, store: Store, sink: Sink) -> None:
        self.store, self.sink = store, sink
        self.refusals: Counter[str] = Counter()

    async def unreadable(self, found: Sequence[Case | Unreadable], now: int) -> list[Case]:
        """The cases that can be read; the others are set aside."""
        for each in found:
            if isinstance(each, Unreadable):
                await self._set_aside(each.identity, now, each.reason)
        return [each for each in found if not isinstance(each, Unreadable)]

    async def commit(self, settlements: list[Settlement], now: int) -> list[bool]:
        """Write each that still holds. If one of them fails all, they are written one by one."""
        if not settlements:
            return []
        try:
            held = await self.store.settle(settlements, now)
        except KronError as error:
            if error.code not in HOPELESS:
                raise
            held = [await self._alone(each, now) for each in settlements]
        if all(held) and not self.refusals:
            return held
        for each, written in zip(settlements, held, strict=True):
            await self._count(each.after.identity, written, now)
        return held

    async def _alone(self, settlement: Settlement, now: int) -> bool:
        try:
            return (await self.store.settle([settlement], now))[0]
        except KronError as error:
            if error.code not in HOPELESS:
                raise
            await self._set_aside(settlement.after.identity, now, error.message)
            return False

    async def _count(self, identity: str, written: bool, now: int) -> None:
        if written:
            if self.refusals:
                self.refusals.pop(identity, None)
            return
        if len(self.refusals) >= REMEMBERED:
            self.refusals.clear()
        self.refusals[identity] += 1
        if self.refusals[identity] >= REFUSALS:
            await self._set_aside(identity, now, f"it could not be committed {REFUSALS} times in a row")

    async def _set_aside(self, identity: str, now: int, reason: str) -> None:
        self.refusals.pop(identity, None)
        self.sink(Event("schedule_set_aside", now, {"identity": identity, "reason": reason, "until": now + FOR}))
        await self.store.set_aside(identity, now + FOR, reason)
