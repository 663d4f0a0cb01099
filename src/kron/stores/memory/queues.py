"""Queues of the in-memory store: when each schedule must be checked next, by kind of target and shard."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from kron.engine.fleet import Share, shard_of

MAX_SHARES = 64  # shares whose queues are remembered: shares change with the fleet


class CheckQueues:
    """Queues of next checks. An entry whose schedule has another next check or kind since is stale, and is dropped."""

    def __init__(self) -> None:
        self.queues: dict[tuple[str, int], list[tuple[int, str]]] = {}  # kind and shard -> (next check, identity)
        self.queued: dict[str, tuple[int, str]] = {}  # identity -> next check and kind of its current entry
        self.keys_by_share: dict[Share, list[tuple[str, int]]] = {}  # the queues of a share, until there is a new one

    def put(self, identity: str, kind: str, next_check_at: int | None) -> None:
        """Set when a schedule must be checked next (milliseconds); None: not before a change."""
        if next_check_at is None:
            self.queued.pop(identity, None)
            return
        self.queued[identity] = next_check_at, kind
        queue_key = kind, shard_of(identity)
        if queue_key not in self.queues:
            self.queues[queue_key] = []
            self.keys_by_share.clear()
        heappush(self.queues[queue_key], (next_check_at, identity))

    def next_check(self, shares: Sequence[Share]) -> int | None:
        """Return when the next schedule of those shares must be checked; None if there is none."""
        queue_keys = [queue_key for share in shares for queue_key in self._keys(share)]
        while queue_keys := [queue_key for queue_key in queue_keys if self.queues[queue_key]]:
            heads = [self.queues[queue_key][0] for queue_key in queue_keys]
            head = min(heads)
            queue = self._queue(queue_keys[heads.index(head)])
            if queue and queue[0] == head:  # otherwise the head of this queue was stale
                return head[0]
        return None

    def first(self, share: Share, upto: int, limit: int, beyond: tuple[int, str]) -> list[str]:
        """Return the schedules of a share that must be checked by `upto` and come after `beyond`, in order."""
        due = self._take_due(share, upto, limit, beyond)
        for entry, queue_key in due.items():  # they stay in the queue until a worker commits a plan for them
            heappush(self.queues[queue_key], entry)
        return [entry[1] for entry in due if entry > beyond]

    def _take_due(
        self, share: Share, upto: int, limit: int, beyond: tuple[int, str]
    ) -> dict[tuple[int, str], tuple[str, int]]:
        """Take the first entries out of the share's queues, with the queue of each: `limit` entries after `beyond`."""
        entries = dict[tuple[int, str], tuple[str, int]]()
        queue_keys = self._keys(share)
        heads = [
            (queue[0], queue_key)
            for queue_key in queue_keys
            if self.queues[queue_key] and self.queues[queue_key][0][0] <= upto
            if (queue := self._queue(queue_key)) and queue[0][0] <= upto
        ]
        heapify(heads)
        while heads and limit > 0:
            entry, queue_key = heappop(heads)
            limit -= entry > beyond and entry not in entries  # twice in the queue if it was postponed and brought back
            entries[entry] = queue_key
            heappop(self.queues[queue_key])
            queue = self._queue(queue_key)
            if queue and queue[0][0] <= upto:
                heappush(heads, (queue[0], queue_key))
        return entries

    def _keys(self, share: Share) -> list[tuple[str, int]]:
        """Return the queues of a share."""
        if share not in self.keys_by_share:
            if len(self.keys_by_share) >= MAX_SHARES:
                self.keys_by_share.clear()
            self.keys_by_share[share] = [
                queue_key for queue_key in self.queues if queue_key[0] in share.kinds and queue_key[1] in share.shards
            ]
        return self.keys_by_share[share]

    def _queue(self, queue_key: tuple[str, int]) -> list[tuple[int, str]]:
        """Return a queue without stale entries: schedules whose next check or kind has changed since."""
        queue, kind = self.queues[queue_key], queue_key[0]
        while queue and self.queued.get(queue[0][1]) != (queue[0][0], kind):
            heappop(queue)
        return queue
