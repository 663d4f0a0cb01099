"""In-memory store: for tests, simulations, and schedules that need not survive the process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice, takewhile

from kron.engine.clock import Clock
from kron.engine.fleet import Fleet, Share, kind_of
from kron.engine.store import FIRST, Found, Maintained
from kron.rules.action import REQUESTS, ScheduleAction
from kron.rules.attempt import Attempt
from kron.rules.downtime import ALWAYS
from kron.rules.gap_record import GapRecord
from kron.rules.run import Run
from kron.rules.state import NOTHING, ScheduleState
from kron.rules.tally import ends_of
from kron.rules.update import Revision, RunUpdate, ScheduleUpdate, can_commit, can_update_run, state_after
from kron.stores.memory.event_ring import MemoryEventRing
from kron.stores.memory.overview import MemoryOverview
from kron.stores.memory.queues import CheckQueues
from kron.stores.memory.retention import Retention
from kron.stores.memory.tables import Tables
from kron.stores.register import Register


class MemoryStore(Tables):
    """Store in dictionaries. Each method runs without a suspension point, so each is one transaction."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        super().__init__()
        self.queues = CheckQueues()
        self.aside: dict[str, str] = {}  # identity -> reason why it was set aside
        self.register = Register()
        self.retention = Retention()
        self.overview = MemoryOverview(self, self.register)
        self.events = MemoryEventRing(self.now)

    async def now(self) -> int:
        """Return the current time in milliseconds."""
        return int(self.clock.now() * 1000)

    async def lease(self, owner: str, kinds: frozenset[str], length: int, tz: str = "") -> Fleet:
        """Lease `owner` for `length` milliseconds. Returns all living workers."""
        return self.register.lease(owner, kinds, await self.now(), length, tz)

    async def poll(self, shares: Sequence[Share]) -> tuple[int, int | None]:
        """Return the current time, and when the next schedule of those shares is due for a check (milliseconds)."""
        return await self.now(), self.queues.next_check(shares)

    async def fetch_due(self, share: Share, upto: int, limit: int, beyond: tuple[int, str] = FIRST) -> list[Found]:
        """Return the schedules that are due for a check by `upto`, the longest waiting first."""
        return [self._full_state(identity) for identity in self.queues.first(share, upto, limit, beyond)]

    async def set_aside(self, identity: str, until: int, reason: str) -> None:
        """Do not check a schedule before `until`, and record the reason."""
        state = self.cases.get(identity)
        if state is not None:
            self.aside[identity] = reason
            self._store_state(state._replace(next_check_at=until))

    def prepare(self, updates: list[ScheduleUpdate]) -> list[ScheduleUpdate]:
        """Return the updates unchanged: this store has nothing to prepare."""
        return updates

    async def commit(self, updates: Sequence[ScheduleUpdate], now: int, *, together: bool = False) -> list[bool]:
        """Commit each update whose schedule is unchanged; with `together`, all of them or none."""
        if together and not all(self._can_commit(update) for update in updates):
            return [False] * len(updates)
        return [self._commit_update(update) for update in updates]

    async def update_runs(self, changes: Sequence[RunUpdate], now: int) -> list[bool]:
        """Write each change whose attempt still has its fencing token. Returns one bool per change."""
        written = [self._change(change) for change in changes]
        ended = [change.after for change, ok in zip(changes, written, strict=True) if ok and not change.after.open]
        for run in sorted(ended, key=lambda run: run.nominal):
            self.last_states[run.identity] = run.state
        return written

    async def get(self, identities: Sequence[str]) -> list[ScheduleState | None]:
        """Return the schedules of those identities; None for each that does not exist."""
        states, now = (self._find_state(identity) for identity in identities), await self.now()
        return [
            state and state._replace(downtime=self.register.downtime(kind_of(state.job.target), now))
            for state in states
        ]

    async def get_with_time(self, identities: Sequence[str]) -> tuple[list[ScheduleState | None], int]:
        """Return the schedules of those identities, and the time (milliseconds) at which they were read."""
        return await self.get(identities), await self.now()

    async def runs_by_key(self, keys: Sequence[str]) -> list[Run | None]:
        """Return the runs of those keys; None for each that does not exist."""
        return [self._find_run(key) for key in keys]

    async def identities(
        self,
        after: str,
        limit: int,
        prefix: str = "",
        paused: bool | None = None,
        deleted: bool = False,
        labels: Sequence[str] = (),
    ) -> list[str]:
        """Return a page of the identities, in order."""
        if len(self.ordered) != len(self.cases):  # retention clears `ordered` when it removes one
            self.ordered = sorted(self.cases)
        start = bisect_right(self.ordered, after) if after >= prefix else bisect_left(self.ordered, prefix)
        following = takewhile(lambda name: name.startswith(prefix), islice(self.ordered, start, None))
        states = (self.cases[name] for name in following)
        matches = (state for state in states if state.deleted is deleted and paused in (None, state.paused))
        wanted = frozenset(labels)
        labelled = (state.identity for state in matches if wanted <= {f"{k}={v}" for k, v in state.job.labels})
        return list(islice(labelled, limit))

    async def runs(self, identity: str, limit: int, before: str = "") -> list[Run]:
        """Return the runs of a schedule, newest first; those older than the run `before` if it is given."""
        runs = self.ledger.get(identity, {})
        if before and before not in runs:
            return []
        older = [run for run in runs.values() if not before or _run_order(run) < _run_order(runs[before])]
        return sorted(older, key=_run_order, reverse=True)[:limit]

    async def dead_letters(self, prefix: str, limit: int, before: str = "") -> list[Run]:
        """Return the dead letters of the schedules whose identities start with `prefix`, newest first."""
        names = [identity for identity in self.ledger if identity.startswith(prefix)]
        dead_runs = {run.key: run for name in names for run in self.ledger[name].values() if run.dead}
        if before and before not in dead_runs:
            return []
        older = [run for run in dead_runs.values() if not before or _end_order(run) < _end_order(dead_runs[before])]
        return sorted(older, key=_end_order, reverse=True)[:limit]

    async def run_ids(self, keys: Sequence[str]) -> list[str | None]:
        """Return the targets' own run ids of those keys; None where the target gave none."""
        return [self.names.get(key) for key in keys]

    async def attempts(self, keys: Sequence[str]) -> list[tuple[Attempt, ...]]:
        """Return the recorded attempts of those runs, oldest first."""
        return [tuple(sorted(self.tried.get(key, {}).values())) for key in keys]

    async def gaps(self, identity: str) -> list[GapRecord]:
        """Return the gap records of a schedule, oldest first."""
        return sorted(self.dropped.get(identity, []), key=lambda gap: gap.first)

    async def revisions(self, identity: str) -> list[Revision]:
        """Return the revisions of a schedule, oldest first."""
        return list(self.history.get(identity, ()))

    async def actions(self, identity: str) -> list[ScheduleAction]:
        """Return the recorded changes of a schedule, in the order in which they were written."""
        return [action for action in self.recorded_actions.get(identity, []) if action.kind not in REQUESTS]

    async def maintain(self, now: int, keep: int | None) -> Maintained:
        """Remove a bounded number of old records."""
        return Maintained() if keep is None else self.retention.prune(self, now - keep)

    async def horizon(self) -> int:
        """Return the time (milliseconds) before which old records may have been removed."""
        return self.retention.horizon

    def _find_state(self, identity: str) -> ScheduleState | None:
        return self._full_state(identity) if identity in self.cases else None

    def _full_state(self, identity: str) -> ScheduleState:
        state, runs, ahead = self.cases[identity], self.open.get(identity), self.ahead.get(identity)
        if not runs and not ahead:
            return state
        former_numbers = {run.revision for run in (runs or {}).values()} - {state.revision}
        jobs = (
            {
                revision.number: revision.job
                for revision in self.history.get(identity, ())
                if revision.number in former_numbers
            }
            if former_numbers
            else NOTHING
        )
        open_runs = tuple(sorted((runs or {}).values(), key=_run_order))
        return state._replace(open_runs=open_runs, handled_ahead=frozenset(ahead or ()), former=jobs)

    def _find_run(self, key: str) -> Run | None:
        identity = self.owner_of.get(key)
        return None if identity is None else self.ledger[identity][key]

    def _can_commit(self, update: ScheduleUpdate) -> bool:
        return can_commit(update, self._find_state(update.after.identity), self.owner_of)

    def _commit_update(self, update: ScheduleUpdate) -> bool:
        after = update.after
        if not self._can_commit(update):
            return False
        self.aside.pop(after.identity, None)
        if (
            after.open_runs or after.handled_ahead or after.former or after.downtime is not ALWAYS
        ):  # these are not part of the stored schedule
            after = after._replace(open_runs=(), handled_ahead=frozenset(), downtime=ALWAYS, former=NOTHING)
        self._store_state(after)
        for run in update.new:
            self._put(run)
        for _, run in update.changed:
            self._put(run)
        for end in ends_of(update):
            self.last_states[end.identity] = end.state
        for run, attempt in update.attempts:
            self._put_attempt(run, attempt)
        if update.gap:
            self.dropped.setdefault(after.identity, []).append(update.gap)
        if update.revision:
            self.history[after.identity] = (*self.history.get(after.identity, ()), update.revision)
        if update.action:
            self.recorded_actions.setdefault(after.identity, []).append(update.action)
        return True

    def _change(self, change: RunUpdate) -> bool:
        if not can_update_run(self._find_run(change.before.key), change):
            return False
        self._put(change.after)
        if change.run_id:
            self.names[change.after.key] = change.run_id
        if change.attempt:
            self._put_attempt(change.after, change.attempt)
        state = self.cases[change.after.identity]
        after = state_after(state, change)
        if after is not state:
            self._store_state(after)
        return True

    def _store_state(self, state: ScheduleState) -> None:
        self.cases[state.identity] = state
        self.queues.put(state.identity, kind_of(state.job.target), state.next_check_at)
        ahead = self.ahead.get(state.identity)
        if ahead:
            self.ahead[state.identity] = {nominal for nominal in ahead if nominal > state.cursor}

    def _put(self, run: Run) -> None:
        self.owner_of[run.key] = run.identity
        self.ledger.setdefault(run.identity, {})[run.key] = run
        if run.nominal > self.cases[run.identity].cursor and not run.trigger:
            self.ahead.setdefault(run.identity, set()).add(run.nominal)
        if run.open:
            self.open.setdefault(run.identity, {})[run.key] = run
        else:
            self.open.get(run.identity, {}).pop(run.key, None)

    def _put_attempt(self, run: Run, attempt: Attempt) -> None:
        """Keep the last result of an attempt, in place of the attempt that is 50 attempts older."""
        self.tried.setdefault(run.key, {})[attempt.slot] = attempt


def _run_order(run: Run) -> tuple[int, str, str]:
    """Return the sort key of runs, in every store: by nominal time."""
    return run.nominal, run.trigger, run.key


def _end_order(run: Run) -> tuple[int, str]:
    """Return the sort key of ended runs: by the time of their last change."""
    return run.changed, run.key
