"""A store in memory: for tests, for simulations, and for schedules that may be forgotten."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import islice, takewhile

from kron.clock import Clock
from kron.core.case import Case
from kron.core.outcome import Gap
from kron.core.run import Run
from kron.store import FIRST, SHARDS, Act, Change, Maintained, Revision, Settlement, fits, shard_of, share_of, speaks
from kron.stores.retention import Retention


class MemoryStore:
    """Everything in dictionaries. Each method runs without a pause, so each is one transaction."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.cases: dict[str, Case] = {}
        self.ordered: list[str] = []  # of them, in order, as of the last time that somebody asked
        self.ledger: dict[str, dict[str, Run]] = {}  # identity -> key -> run
        self.open: dict[str, dict[str, Run]] = {}  # those of them that are open
        self.owner_of: dict[str, str] = {}  # key -> identity
        self.names: dict[str, str] = {}  # key -> what its target calls it
        self.dropped: dict[str, list[Gap]] = {}
        self.history: dict[str, tuple[Revision, ...]] = {}
        self.deeds: dict[str, list[Act]] = {}
        self.ahead: dict[str, set[int]] = {}  # identity -> handled periods beyond its cursor
        self.queues: list[list[tuple[int, str]]] = [[] for _ in range(SHARDS)]  # when to look at whom
        self.members: dict[str, tuple[int, int]] = {}  # owner -> said when, lives until
        self.leases: dict[int, str] = {}  # shard -> who looks at it, for as long as he lives
        self.retention = Retention()

    async def now(self) -> int:
        """The current instant in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, now: int, until: int) -> frozenset[int]:
        """Say that `owner` lives until then; the shards that it may look at."""
        lives = ((m, (min(said, now), end - max(0, said - now))) for m, (said, end) in self.members.items())
        self.members = {m: life for m, life in lives if life[1] > now} | {owner: (now, until)}
        share = share_of(owner, tuple(sorted(self.members)))
        self.leases = {s: holder for s, holder in self.leases.items() if holder in self.members and holder != owner}
        free = share - self.leases.keys()
        self.leases |= dict.fromkeys(free, owner)
        return free

    async def look(self, shards: frozenset[int], upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Case]:
        """The cases that are to be looked at by `upto`, the longest waiting first."""
        due = self._waiting(shards, upto, limit, beyond)
        for entry, shard in due.items():  # they wait until somebody settles them
            heappush(self.queues[shard], entry)
        return [self._case(entry[1]) for entry in due if entry > beyond]

    async def wake(self, shards: frozenset[int]) -> int | None:
        """When the next case of those shards is to be looked at."""
        return min((queue[0][0] for shard in shards if (queue := self._queue(shard))), default=None)

    def prepare(self, settlements: list[Settlement]) -> list[Settlement]:
        """There is nothing to do before the time comes."""
        return settlements

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

    async def get_now(self, identities: Sequence[str]) -> tuple[list[Case | None], int]:
        """The same, and the instant at which they were so."""
        return await self.get(identities), await self.now()

    async def find(self, keys: Sequence[str]) -> list[Run | None]:
        """The runs of those keys."""
        return [self._run(key) for key in keys]

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """A page of the identities, in order."""
        if len(self.ordered) != len(self.cases):  # what is removed with the retention clears it
            self.ordered = sorted(self.cases)
        begin = bisect_right(self.ordered, after) if after >= prefix else bisect_left(self.ordered, prefix)
        following = takewhile(lambda name: name.startswith(prefix), islice(self.ordered, begin, None))
        cases = (self.cases[name] for name in following)
        wanted = (c.identity for c in cases if c.deleted is deleted and paused in (None, c.paused))
        return list(islice(wanted, limit))

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """The newest runs of a schedule."""
        runs = self.ledger.get(identity, {})
        if before and before not in runs:
            return []
        older = [run for run in runs.values() if not before or _place(run) < _place(runs[before])]
        return sorted(older, key=_place, reverse=True)[:limit]

    async def dead(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """The runs that could not be started, the last that was given up first."""
        names = [identity for identity in self.ledger if identity.startswith(prefix)]
        found = {run.key: run for name in names for run in self.ledger[name].values() if run.dead}
        if before and before not in found:
            return []
        older = [run for run in found.values() if not before or _end(run) < _end(found[before])]
        return sorted(older, key=_end, reverse=True)[:limit]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """What the targets call the runs of those keys."""
        return [self.names.get(key) for key in keys]

    async def gaps(self, identity: str) -> list[Gap]:
        """The gaps of a schedule."""
        return sorted(self.dropped.get(identity, []), key=lambda gap: gap.first)

    async def revisions(self, identity: str) -> list[Revision]:
        """The revisions of a schedule."""
        return list(self.history.get(identity, ()))

    async def acts(self, identity: str) -> list[Act]:
        """What was done to a schedule."""
        return list(self.deeds.get(identity, []))

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records."""
        return Maintained() if keep is None else self.retention.prune(self, now - keep)

    async def horizon(self) -> int:
        """Up to when old records may have been removed."""
        return self.retention.horizon

    def _waiting(
        self, shards: frozenset[int], upto: int, limit: int, beyond: tuple[int, str]
    ) -> dict[tuple[int, str], int]:
        """The first entries of those queues, taken out of them, with the shard of each; so many beyond that place."""
        found = dict[tuple[int, str], int]()
        heads = [(queue[0], shard) for shard in shards if (queue := self._queue(shard)) and queue[0][0] <= upto]
        heapify(heads)
        while heads and limit > 0:
            entry, shard = heappop(heads)
            limit -= entry > beyond and entry not in found  # it stands there twice if it was put off and brought back
            found[entry] = shard
            heappop(self.queues[shard])
            queue = self._queue(shard)
            if queue and queue[0][0] <= upto:
                heappush(heads, (queue[0], shard))
        return found

    def _queue(self, shard: int) -> list[tuple[int, str]]:
        """The queue of a shard, without what has been put off or brought forward since."""
        queue = self.queues[shard]
        while queue and ((case := self.cases.get(queue[0][1])) is None or case.wake != queue[0][0]):
            heappop(queue)
        return queue

    def _stored(self, identity: str) -> Case | None:
        return self._case(identity) if identity in self.cases else None

    def _case(self, identity: str) -> Case:
        case, runs, ahead = self.cases[identity], self.open.get(identity), self.ahead.get(identity)
        if not runs and not ahead:
            return case
        return case._replace(open=tuple(sorted((runs or {}).values(), key=_place)), ahead=frozenset(ahead or ()))

    def _run(self, key: str) -> Run | None:
        identity = self.owner_of.get(key)
        return None if identity is None else self.ledger[identity][key]

    def _fits(self, settlement: Settlement) -> bool:
        return fits(settlement, self._stored(settlement.after.identity), self.owner_of)

    def _settle(self, settlement: Settlement) -> bool:
        after = settlement.after
        if not self._fits(settlement):
            return False
        self._keep(after._replace(open=(), ahead=frozenset()) if after.open or after.ahead else after)
        for run in settlement.new:
            self._put(run)
        for _, run in settlement.changed:
            self._put(run)
        if settlement.gap:
            self.dropped.setdefault(after.identity, []).append(settlement.gap)
        if settlement.revision:
            self.history[after.identity] = (*self.history.get(after.identity, ()), settlement.revision)
        if settlement.act:
            self.deeds.setdefault(after.identity, []).append(settlement.act)
        return True

    def _change(self, change: Change) -> bool:
        if not speaks(self._run(change.before.key), change):
            return False
        self._put(change.after)
        if change.run_id:
            self.names[change.after.key] = change.run_id
        case = self.cases[change.after.identity]
        if change.wake is not None and (case.wake is None or change.wake < case.wake):
            self._keep(case._replace(wake=change.wake))
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


def _end(run: Run) -> tuple[int, str]:
    """The order of runs that have ended."""
    return run.changed, run.key
