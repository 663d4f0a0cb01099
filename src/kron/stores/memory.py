"""A store in memory: for tests, for simulations, and for schedules that may be forgotten."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import islice, takewhile

from kron.clock import Clock
from kron.core.case import NOTHING, Case
from kron.core.downtime import ALWAYS
from kron.core.outcome import Gap
from kron.core.run import Run
from kron.fleet import Fleet, Share, kind_of, shard_of
from kron.store import FIRST, Act, Change, Found, Maintained, Revision, Settlement, fits, speaks
from kron.stores.register import Register
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
        self.queues: dict[tuple[str, int], list[tuple[int, str]]] = {}  # kind and shard -> when to look at whom
        self.aside: dict[str, str] = {}  # identity -> why it was set aside
        self.register = Register()
        self.retention = Retention()

    async def now(self) -> int:
        """The current instant in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Register `owner` for so many milliseconds; all who live."""
        return self.register.lease(owner, kinds, await self.now(), length)

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """The current instant, and when the next schedule of those shares is to be looked at."""
        queues = (self._queue(place) for share in shares for place in self._places(share))
        return await self.now(), min((queue[0][0] for queue in queues if queue), default=None)

    async def look(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """The cases that are to be looked at by `upto`, the longest waiting first."""
        due = self._waiting(share, upto, limit, beyond)
        for entry, place in due.items():  # they wait until somebody settles them
            heappush(self.queues[place], entry)
        return [self._case(entry[1]) for entry in due if entry > beyond]

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Look at a schedule no earlier than that."""
        case = self.cases.get(identity)
        if case is not None:
            self.aside[identity] = reason
            self._keep(case._replace(wake=until))

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
        found, now = (self._stored(identity) for identity in identities), await self.now()
        return [c and c._replace(downtime=self.register.downtime(kind_of(c.job.target), now)) for c in found]

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
        self, share: Share, upto: int, limit: int, beyond: tuple[int, str]
    ) -> dict[tuple[int, str], tuple[str, int]]:
        """The first entries of those queues, taken out of them, with the queue of each; so many beyond that place."""
        found = dict[tuple[int, str], tuple[str, int]]()
        places = self._places(share)
        heads = [(queue[0], place) for place in places if (queue := self._queue(place)) and queue[0][0] <= upto]
        heapify(heads)
        while heads and limit > 0:
            entry, place = heappop(heads)
            limit -= entry > beyond and entry not in found  # it stands there twice if it was put off and brought back
            found[entry] = place
            heappop(self.queues[place])
            queue = self._queue(place)
            if queue and queue[0][0] <= upto:
                heappush(heads, (queue[0], place))
        return found

    def _places(self, share: Share) -> list[tuple[str, int]]:
        """The queues of a share."""
        return [place for place in self.queues if place[0] in share.kinds and place[1] in share.shards]

    def _queue(self, place: tuple[str, int]) -> list[tuple[int, str]]:
        """A queue, without what has been put off or brought forward since, or has become of another kind."""
        queue = self.queues[place]
        while queue and self._stale(*queue[0], place[0]):
            heappop(queue)
        return queue

    def _stale(self, wake: int, identity: str, kind: str) -> bool:
        case = self.cases.get(identity)
        return case is None or case.wake != wake or kind_of(case.job.target) != kind

    def _stored(self, identity: str) -> Case | None:
        return self._case(identity) if identity in self.cases else None

    def _case(self, identity: str) -> Case:
        case, runs, ahead = self.cases[identity], self.open.get(identity), self.ahead.get(identity)
        if not runs and not ahead:
            return case
        former = {r.revision for r in (runs or {}).values()} - {case.revision}
        jobs = {r.number: r.job for r in self.history.get(identity, ()) if r.number in former} if former else NOTHING
        opened = tuple(sorted((runs or {}).values(), key=_place))
        return case._replace(open=opened, ahead=frozenset(ahead or ()), former=jobs)

    def _run(self, key: str) -> Run | None:
        identity = self.owner_of.get(key)
        return None if identity is None else self.ledger[identity][key]

    def _fits(self, settlement: Settlement) -> bool:
        return fits(settlement, self._stored(settlement.after.identity), self.owner_of)

    def _settle(self, settlement: Settlement) -> bool:
        after = settlement.after
        if not self._fits(settlement):
            return False
        self.aside.pop(after.identity, None)
        if (
            after.open or after.ahead or after.former or after.downtime is not ALWAYS
        ):  # which are not the schedule's own
            after = after._replace(open=(), ahead=frozenset(), downtime=ALWAYS, former=NOTHING)
        self._keep(after)
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
            place = kind_of(case.job.target), shard_of(case.identity)
            heappush(self.queues.setdefault(place, []), (case.wake, case.identity))
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
