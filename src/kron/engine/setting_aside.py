"""Setting aside: schedules that cannot be read or committed are reported and retried later. The others continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kron.engine.events import Event, Sink
from kron.engine.store import Store, Unreadable
from kron.errors import InvalidInput, UnreadableRecord, WriteRejected
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate

MAX_COMMIT_FAILURES = 20  # failed commits in a row, after which a schedule is set aside
SET_ASIDE_MS = 60_000  # milliseconds until the schedule is read again
MAX_COUNTED_SCHEDULES = 10_000  # schedules whose failures are counted
SCHEDULE_ERRORS = (WriteRejected, InvalidInput, UnreadableRecord)  # errors of one schedule, not of the store


class SettingAside:
    """Commits the plans of a worker, and counts repeated failures by schedule."""

    def __init__(self, store: Store, sink: Sink) -> None:
        self.store, self.sink = store, sink
        self.failures: Counter[str] = Counter()

    async def unreadable(self, schedules: Sequence[ScheduleState | Unreadable], now: int) -> list[ScheduleState]:
        """Return the states that can be read, and set the unreadable schedules aside."""
        for schedule in schedules:
            if isinstance(schedule, Unreadable):
                await self._set_aside(schedule.identity, now, schedule.reason)
        return [schedule for schedule in schedules if not isinstance(schedule, Unreadable)]

    async def commit(self, updates: list[ScheduleUpdate], now: int) -> list[bool]:
        """Commit each update whose schedule is unchanged.

        If one of them fails the whole batch, commit them one by one.
        """
        if not updates:
            return []
        try:
            committed = await self.store.commit(updates, now)
        except SCHEDULE_ERRORS:
            committed = [await self._commit_alone(update, now) for update in updates]
        if all(committed) and not self.failures:
            return committed
        for update, is_committed in zip(updates, committed, strict=True):
            await self._count_failure(update.after.identity, is_committed, now)
        return committed

    async def _commit_alone(self, update: ScheduleUpdate, now: int) -> bool:
        try:
            return (await self.store.commit([update], now))[0]
        except SCHEDULE_ERRORS as error:
            await self._set_aside(update.after.identity, now, error.message)
            return False

    async def _count_failure(self, identity: str, is_committed: bool, now: int) -> None:
        if is_committed:
            if self.failures:
                self.failures.pop(identity, None)
            return
        if len(self.failures) >= MAX_COUNTED_SCHEDULES:
            self.failures.clear()
        self.failures[identity] += 1
        if self.failures[identity] >= MAX_COMMIT_FAILURES:
            await self._set_aside(identity, now, f"{MAX_COMMIT_FAILURES} commits in a row failed")

    async def _set_aside(self, identity: str, now: int, reason: str) -> None:
        self.failures.pop(identity, None)
        self.sink(
            Event("schedule_set_aside", now, {"identity": identity, "reason": reason, "until": now + SET_ASIDE_MS})
        )
        await self.store.set_aside(identity, now + SET_ASIDE_MS, reason)
