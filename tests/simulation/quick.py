"""The memory store with a glance at a queue before it is searched: a simulation looks at many empty ones."""

from __future__ import annotations

from kron.stores.memory import MemoryStore


class QuickStore(MemoryStore):
    """The same store; only its idle looks are cheaper."""

    def _waiting(self, shard: int, upto: int | None, limit: int) -> list[tuple[int, str]]:
        queue = self.queues[shard]
        if not queue or (upto is not None and queue[0][0] > upto):
            return []
        first = queue[0]
        if limit == 1 and self.cases[first[1]].wake == first[0]:
            return [first]
        return super()._waiting(shard, upto, limit)
