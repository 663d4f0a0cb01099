"""Setting aside: schedules that cannot be read or committed are reported and retried later. The others continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kron.engine.events import Event, Sink
from kron.engine.store import Store, Unreadable
from kron.errors import InvalidInput, UnreadableRecord, WriteRejected
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate

REFUSALS = 20  # failed commits in a row, after which a schedule is set aside
FOR = 60_000  # milliseconds until the schedule is read again
REMEMBERED = 10_000  # schedules whose failures are counted
HOPELESS = (WriteRejected, InvalidInput, UnreadableRecord)  # errors of one schedule, not of the store


class SettingAside:
    """Commits the plans of a worker, and counts repeated failures by schedule."""

    def __init__(self, store: Store, sink: Sink) -> None:
        self.store, self.sink = store, sink
        self.refusals: Counter[str] = Counter()

    async def unreadable(self, found: Sequence[ScheduleState | Unreadable], now: int) -> list[ScheduleState]:
        """Return the states that can be read, and set the unreadable schedules aside."""
        for each in found:
            if isinstance(each, Unreadable):
                await self._set_aside(each.identity, now, each.reason)
        return [each for each in found if not isinstance(each, Unreadable)]

    async def commit(self, settlements: list[ScheduleUpdate], now: int) -> list[bool]:
        """Commit each update whose schedule is unchanged.

        If one of them fails the whole batch, commit them one by one.
        """
        if not settlements:
            return []
        try:
            held = await self.store.commit(settlements, now)
        except HOPELESS:
            held = [await self._alone(each, now) for each in settlements]
        if all(held) and not self.refusals:
            return held
        for each, written in zip(settlements, held, strict=True):
            await self._count(each.after.identity, written, now)
        return held

    async def _alone(self, settlement: ScheduleUpdate, now: int) -> bool:
        try:
            return (await self.store.commit([settlement], now))[0]
        except HOPELESS as error:
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
            await self._set_aside(identity, now, f"{REFUSALS} commits in a row failed")

    async def _set_aside(self, identity: str, now: int, reason: str) -> None:
        self.refusals.pop(identity, None)
        self.sink(Event("schedule_set_aside", now, {"identity": identity, "reason": reason, "until": now + FOR}))
        await self.store.set_aside(identity, now + FOR, reason)
