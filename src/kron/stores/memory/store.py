"""In-memory store: for tests, simulations, and schedules that need not survive the process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import islice, takewhile

from kron.engine.clock import Clock
from kron.engine.fleet import Fleet, Share, kind_of, shard_of
from kron.engine.store import FIRST, Found, Maintained
from kron.rules.downtime import ALWAYS
from kron.rules.outcome import GapRecord
from kron.rules.run import Run
from kron.rules.state import NOTHING, ScheduleState
from kron.rules.update import Revision, RunUpdate, ScheduleAction, ScheduleUpdate, can_commit, can_update_run
from kron.stores.memory.retention import Retention
from kron.stores.memory.tables import Tables
from kron.stores.register import Register


class MemoryStore(Tables):
    """Store in dictionaries. Each method runs without a suspension point, so each is one transaction."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        super().__init__()
        self.queues: dict[tuple[str, int], list[tuple[int, str]]] = {}  # kind and shard -> (next check, identity)
        self.aside: dict[str, str] = {}  # identity -> reason why it was set aside
        self.register = Register()
        self.retention = Retention()

    async def now(self) -> int:
        """Return the current time in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, kinds: frozenset[str], length: int) -> Fleet:
        """Lease `owner` for `length` milliseconds. Returns all living workers."""
        return self.register.lease(owner, kinds, await self.now(), length)

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of those shares is due for a check (milliseconds)."""
        queues = (self._queue(place) for share in shares for place in self._places(share))
        return await self.now(), min((queue[0][0] for queue in queues if queue), default=None)

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules that are due for a check by `upto`, the longest waiting first."""
        due = self._waiting(share, upto, limit, beyond)
        for entry, place in due.items():  # they stay in the queue until a worker commits a plan for them
            heappush(self.queues[place], entry)
        return [self._case(entry[1]) for entry in due if entry > beyond]

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Do not check a schedule before `until`, and record the reason."""
        case = self.cases.get(identity)
        if case is not None:
            self.aside[identity] = reason
            self._keep(case._replace(next_check_at=until))

    def prepare(self, settlements: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the updates unchanged: this store has nothing to prepare."""
        return settlements

    async def commit(self, settlements: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        if together and not all(self._fits(settlement) for settlement in settlements):
            return [False] * len(settlements)
        return [self._settle(settlement) for settlement in settlements]

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        return [self._change(change) for change in changes]

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the schedules of those identities; None for each that does not exist."""
        found, now = (self._stored(identity) for identity in identities), await self.now()
        return [c and c._replace(downtime=self.register.downtime(kind_of(c.job.target), now)) for c in found]

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the schedules of those identities, and the time (milliseconds) at which they were read."""
        return await self.get(identities), await self.now()

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        return [self._run(key) for key in keys]

    async def identities(
        self, after: str, limit: int, prefix: str = "", paused: bool | None = None, deleted: bool = False
    ) -> list[str]:
        """Return a page of the identities, in order."""
        if len(self.ordered) != len(self.cases):  # retention clears `ordered` when it removes one
            self.ordered = sorted(self.cases)
        begin = bisect_right(self.ordered, after) if after >= prefix else bisect_left(self.ordered, prefix)
        following = takewhile(lambda name: name.startswith(prefix), islice(self.ordered, begin, None))
        cases = (self.cases[name] for name in following)
        wanted = (c.identity for c in cases if c.deleted is deleted and paused in (None, c.paused))
        return list(islice(wanted, limit))

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; those older than the run `before` if it is given."""
        runs = self.ledger.get(identity, {})
        if before and before not in runs:
            return []
        older = [run for run in runs.values() if not before or _place(run) < _place(runs[before])]
        return sorted(older, key=_place, reverse=True)[:limit]

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters of the schedules whose identities start with `prefix`, newest first."""
        names = [identity for identity in self.ledger if identity.startswith(prefix)]
        found = {run.key: run for name in names for run in self.ledger[name].values() if run.dead}
        if before and before not in found:
            return []
        older = [run for run in found.values() if not before or _end(run) < _end(found[before])]
        return sorted(older, key=_end, reverse=True)[:limit]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' own run ids of those keys; None where the target gave none."""
        return [self.names.get(key) for key in keys]

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""
        return sorted(self.dropped.get(identity, []), key=lambda gap: gap.first)

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""
        return list(self.history.get(identity, ()))

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded actions of a schedule, in the order in which they were written."""
        return list(self.recorded_actions.get(identity, []))

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records."""
        return Maintained() if keep is None else self.retention.prune(self, now - keep)

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        return self.retention.horizon

    def _waiting(
        self, share: Share, upto: int, limit: int, beyond: tuple[int, str]
    ) -> dict[tuple[int, str], tuple[str, int]]:
        """Take the first entries out of the share's queues, with the queue of each: `limit` entries after `beyond`."""
        found = dict[tuple[int, str], tuple[str, int]]()
        places = self._places(share)
        heads = [(queue[0], place) for place in places if (queue := self._queue(place)) and queue[0][0] <= upto]
        heapify(heads)
        while heads and limit > 0:
            entry, place = heappop(heads)
            limit -= entry > beyond and entry not in found  # twice in the queue if it was postponed and brought back
            found[entry] = place
            heappop(self.queues[place])
            queue = self._queue(place)
            if queue and queue[0][0] <= upto:
                heappush(heads, (queue[0], place))
        return found

    def _places(self, share: Share) -> list[tuple[str, int]]:
        """Return the queues of a share."""
        return [place for place in self.queues if place[0] in share.kinds and place[1] in share.shards]

    def _queue(self, place: tuple[str, int]) -> list[tuple[int, str]]:
        """Return a queue without stale entries: schedules whose next check or kind has changed since."""
        queue = self.queues[place]
        while queue and self._stale(*queue[0], place[0]):
            heappop(queue)
        return queue

    def _stale(self, wake: int, identity: str, kind: str) -> bool:
        case = self.cases.get(identity)
        return case is None or case.next_check_at != wake or kind_of(case.job.target) != kind

    def _stored(self, identity: str) -> ScheduleState | None:
        return self._case(identity) if identity in self.cases else None

    def _case(self, identity: str) -> ScheduleState:
        case, runs, ahead = self.cases[identity], self.open.get(identity), self.ahead.get(identity)
        if not runs and not ahead:
            return case
        former = {r.revision for r in (runs or {}).values()} - {case.revision}
        jobs = {r.number: r.job for r in self.history.get(identity, ()) if r.number in former} if former else NOTHING
        opened = tuple(sorted((runs or {}).values(), key=_place))
        return case._replace(open_runs=opened, handled_ahead=frozenset(ahead or ()), former=jobs)

    def _run(self, key: str) -> Run | None:
        identity = self.owner_of.get(key)
        return None if identity is None else self.ledger[identity][key]

    def _fits(self, settlement: ScheduleUpdate) -> bool:
        return can_commit(settlement, self._stored(settlement.after.identity), self.owner_of)

    def _settle(self, settlement: ScheduleUpdate) -> bool:
        after = settlement.after
        if not self._fits(settlement):
            return False
        self.aside.pop(after.identity, None)
        if (
            after.open_runs or after.handled_ahead or after.former or after.downtime is not ALWAYS
        ):  # these are not part of the stored schedule
            after = after._replace(open_runs=(), handled_ahead=frozenset(), downtime=ALWAYS, former=NOTHING)
        self._keep(after)
        for run in settlement.new:
            self._put(run)
        for _, run in settlement.changed:
            self._put(run)
        if settlement.gap:
            self.dropped.setdefault(after.identity, []).append(settlement.gap)
        if settlement.revision:
            self.history[after.identity] = (*self.history.get(after.identity, ()), settlement.revision)
        if settlement.action:
            self.recorded_actions.setdefault(after.identity, []).append(settlement.action)
        return True

    def _change(self, change: RunUpdate) -> bool:
        if not can_update_run(self._run(change.before.key), change):
            return False
        self._put(change.after)
        if change.run_id:
            self.names[change.after.key] = change.run_id
        case = self.cases[change.after.identity]
        if change.next_check_at is not None and (
            case.next_check_at is None or change.next_check_at < case.next_check_at
        ):
            self._keep(case._replace(next_check_at=change.next_check_at))
        return True

    def _keep(self, case: ScheduleState) -> None:
        self.cases[case.identity] = case
        if case.next_check_at is not None:
            place = kind_of(case.job.target), shard_of(case.identity)
            heappush(self.queues.setdefault(place, []), (case.next_check_at, case.identity))
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
    """Return the sort key of runs, in every store: by nominal time."""
    return run.nominal, run.trigger, run.key


def _end(run: Run) -> tuple[int, str]:
    """Return the sort key of ended runs: by the time of their last change."""
    return run.changed, run.key
