"""A store whose last commits can be taken back, as a failover to a standby that lags behind does."""

from __future__ import annotations

from typing import Any

from kron.rules.update import RunUpdate, ScheduleUpdate
from kron.stores.memory import MemoryStore


class Reversible:
    """The memory of a store before each of its last writes."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.undo: list[tuple[float, str, tuple[Any, ...]]] = []
        settle, change = store._commit_update, store._change

        def _commit_update(settlement: ScheduleUpdate) -> bool:
            return self._kept(settlement.after.identity, lambda: settle(settlement))

        def _change(wanted: RunUpdate) -> bool:
            return self._kept(wanted.after.identity, lambda: change(wanted))

        store._commit_update, store._change = _commit_update, _change  # type: ignore[method-assign]

    def _kept(self, identity: str, write: Any) -> bool:
        s = self.store
        entry = (s.clock.loop.time(), identity, self._now_of(identity))
        held: bool = write()
        if held:
            self.undo.append(entry)
            del self.undo[:-300]
        return held

    def _now_of(self, identity: str) -> tuple[Any, ...]:
        s = self.store
        return (
            s.cases.get(identity),
            dict(s.ledger.get(identity, {})),
            dict(s.open.get(identity, {})),
            list(s.dropped.get(identity, [])),
            list(s.history.get(identity, [])),
            set(s.ahead.get(identity, ())),
        )

    def take_back(self, since: float) -> int:
        """Undo every write later than that; how many there were."""
        count = 0
        while self.undo and self.undo[-1][0] > since:
            _, identity, then = self.undo.pop()
            self._restore(identity, *then)
            count += 1
        return count

    def _restore(self, identity: str, *then: Any) -> None:
        s, (case, ledger, opened, dropped, history, ahead) = self.store, then
        for key in s.ledger.get(identity, {}).keys() - ledger.keys():
            del s.owner_of[key]
        s.ledger[identity], s.open[identity], s.dropped[identity] = ledger, opened, dropped
        s.history[identity], s.ahead[identity] = history, ahead
        if case is None:
            s.cases.pop(identity, None)
            s.queues.put(identity, "", None)
        else:
            s._store_state(case)
