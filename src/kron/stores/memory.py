"""A store in memory: for tests, for simulations, and for schedules that may be forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from kron.clock import Clock
from kron.core.case import Case
from kron.core.outcome import Gap
from kron.core.run import Run
from kron.store import SHARDS, Change, Revision, Settlement, fits, shard_of, share_of, speaks


class MemoryStore:
    """Everything in dictionaries. Each method runs without a pause, so each is one transaction."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.cases: dict[str, Case] = {}
        self.ledger: dict[str, dict[str, Run]] = {}  # identity -> key -> run
        self.open: dict[str, dict[str, Run]] = {}  # those of them that are open
        self.owner_of: dict[str, str] = {}  # key -> identity
        self.dropped: dict[str, list[Gap]] = {}
        self.history: dict[str, list[Revision]] = {}
        self.ahead: dict[str, set[int]] = {}  # identity -> handled periods beyond its cursor
        self.queues: list[list[tuple[int, str]]] = [[] for _ in range(SHARDS)]  # when to look at whom
        self.members: dict[str, int] = {}  # owner -> lives until
        self.leases: dict[int, tuple[str, int]] = {}  # shard -> owner, until

    async def now(self) -> int:
        """The current instant in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, now: int, until: int) -> frozenset[int]:
        """Say that `owner` lives until then; the shards that it may look at."""
        self.members = {m: end for m, end in self.members.items() if end > now} | {owner: until}
        share = share_of(owner, tuple(sorted(self.members)))
        free = {s for s in share if self.leases.get(s, ("", 0))[1] <= now or self.leases[s][0] == owner}
        self.leases = {s: lease for s, lease in self.leases.items() if lease[0] != owner}
        self.leases |= dict.fromkeys(free, (owner, until))
        return frozenset(free)

    async def look(self, shards: frozenset[int], upto: int, limit: int) -> list[Case]:
        """The cases that are to be looked at by `upto`, the longest waiting first."""
        due = sorted(entry for shard in shards for entry in self._waiting(shard, upto, limit))
        return [self._case(identity) for _, identity in due[:limit]]

    async def wake(self, shards: frozenset[int]) -> int | None:
        """When the next case of those shards is to be looked at."""
        return min((entry[0] for shard in shards for entry in self._waiting(shard, None, 1)), default=None)

    async def settle(self, settlements: Sequence[Settlement], now: int, *, together: bool = False) -> list[bool]:
        """Write each settlement that still holds; or all of them, or none."""
        if together and not all(self._fits(settlement) for settlement in settlements):
            return [False] * len(settlements)
        return [self._settle(settlement) for settlement in settlements]

    async def change(self, changes: Sequence[Change], now: int) -> list[bool]:
        """Write each change whose attempt still has its token."""
        return [self._change(change) for change in changes]

    async def get(self, identities: Sequence[str]) -> list[Case | None]:
        """The cases of those identities."""
        return [self._stored(identity) for identity in identities]

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""
        return [self._run(key) for key in keys]

    async def identities(self, after: str, limit: int) -> list[str]:
        """A page of the identities, in order."""
        return sorted(i for i in self.cases if i > after and not self.cases[i].deleted)[:limit]

    async def runs(self, identity: str, limit: int) -> list[Run]:
        """The newest runs of a schedule."""
        return sorted(self.ledger.get(identity, {}).values(), key=_place, reverse=True)[:limit]

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule."""
        return sorted(self.dropped.get(identity, []), key=lambda gap: gap.first)

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule."""
        return list(self.history.get(identity, []))

    def _waiting(self, shard: int, upto: int | None, limit: int) -> list[tuple[int, str]]:
        """The first entries of a shard's queue that still hold; the others are dropped on the way."""
        queue, found = self.queues[shard], dict[tuple[int, str], None]()
        while queue and len(found) < limit and (upto is None or queue[0][0] <= upto):
            entry = heappop(queue)
            if self.cases[entry[1]].wake == entry[0]:
                found[entry] = None
        for entry in found:
            heappush(queue, entry)
        return list(found)

    def _stored(self, identity: str) -> Case | None:
        return self._case(identity) if identity in self.cases else None

    def _case(self, identity: str) -> Case:
        runs = sorted(self.open.get(identity, {}).values(), key=_place)
        return replace(self.cases[identity], open=tuple(runs), ahead=frozenset(self.ahead.get(identity, ())))

    def _run(self, key: str) -> Run | None:
        identity = self.owner_of.get(key)
        return None if identity is None else self.ledger[identity][key]

    def _fits(self, settlement: Settlement) -> bool:
        return fits(settlement, self._stored(settlement.after.identity), self.owner_of)

    def _settle(self, settlement: Settlement) -> bool:
        after = settlement.after
        if not self._fits(settlement):
            return False
        self._keep(replace(after, open=(), ahead=frozenset()))
        for run in (*settlement.new, *(run for _, run in settlement.changed)):
            self._put(run)
        if settlement.gap:
            self.dropped.setdefault(after.identity, []).append(settlement.gap)
        if settlement.revision:
            self.history.setdefault(after.identity, []).append(settlement.revision)
        return True

    def _change(self, change: Change) -> bool:
        if not speaks(self._run(change.before.key), change):
            return False
        self._put(change.after)
        case = self.cases[change.after.identity]
        if change.wake is not None and (case.wake is None or change.wake < case.wake):
            self._keep(replace(case, wake=change.wake))
        return True

    def _keep(self, case: Case) -> None:
        self.cases[case.identity] = case
        if case.wake is not None:
            heappush(self.queues[shard_of(case.identity)], (case.wake, case.identity))
        beyond = self.ahead.get(case.identity)
        if beyond:
            self.ahead[case.identity] = {nominal for nominal in beyond if nominal > case.cursor}

    def _put(self, run: Run) -> None:
        self.owner_of[run.key] = run.identity
        self.ledger.setdefault(run.identity, {})[run.key] = run
        if run.nominal > self.cases[run.identity].cursor and not run.trigger:
            self.ahead.setdefault(run.identity, set()).add(run.nominal)
        if run.open:
            self.open.setdefault(run.identity, {})[run.key] = run
        else:
            self.open.get(run.identity, {}).pop(run.key, None)


def _place(run: Run) -> tuple[int, str, str]:
    """The order of runs everywhere: by their nominal times."""
    return run.nominal, run.trigger, run.key
