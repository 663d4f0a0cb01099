"""Membership: a worker's renewed registration in the fleet: what it can launch, and which shards it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kron.engine.clock import Timer
from kron.engine.events import Sink, silent
from kron.engine.fleet import ALL_SHARDS, SHARDS, Share, kind_of, leader, shares
from kron.engine.launcher import Launcher, count_kinds, kinds_of
from kron.engine.settings import Settings
from kron.engine.store import Store
from kron.engine.tz_watch import TzWatch
from kron.rules.downtime import ALWAYS, EVER, Downtime
from kron.rules.state import ScheduleState
from kron.timing.schedule.policy import FirstPeriod
from kron.timing.tzdata import host_version


class Membership:
    """Shares of one worker. A worker that works alone does not register, and has all shards."""

    def __init__(
        self,
        store: Store,
        owner: str,
        launchers: Mapping[str, Launcher],
        timer: Timer,
        settings: Settings,
        sink: Sink = silent,
    ) -> None:
        self.store, self.owner, self.launchers = store, owner, launchers
        self.tz_watch = TzWatch(owner, sink)
        self.timer, self.settings = timer, settings
        self.kinds = frozenset[str]()
        self.shares: tuple[Share, ...] = ()
        self.downtimes: Mapping[str, Downtime] = {}
        self.renewed: tuple[float, int] | None = None  # last renewal by the timer and by the store; None: not a member
        self.worker_counts: Counter[str] = Counter()  # living workers by kind of target, if they share limits
        self.last_pass = -EVER  # milliseconds: last pass of a worker that works alone

    def due(self, now: int) -> bool:
        """Return whether the lease must be renewed.

        This is every third of its length, and when there is a new kind to launch.
        """
        if self.renewed is None or count_kinds(self.launchers) != len(self.kinds) or not self.settings.shard_lease:
            return True
        renewed_timer, renewed_at = self.renewed
        elapsed_ms = max((self.timer.monotonic() - renewed_timer) * 1000, now - renewed_at, renewed_at - now)
        return elapsed_ms >= self.settings.shard_lease / 3

    async def renew(self, now: int) -> bool:
        """Register this worker and read the other living ones. Returns whether its shares have changed."""
        before, began, kinds = self.shares, self.timer.monotonic(), kinds_of(self.launchers)
        if self.settings.shard_lease:
            fleet = await self.store.lease(self.owner, kinds, self.settings.shard_lease, host_version())
            self.tz_watch.compare(fleet.members, now)
            leads = leader(fleet.members, kinds) == self.owner
            leader_shares = (Share(ALL_SHARDS, kinds),) if leads else ()
            self.shares = leader_shares if self.settings.leader_election else shares(self.owner, fleet.members)
            self.downtimes = fleet.downtimes
            if self.settings.target_limits and not self.settings.leader_election:
                self.worker_counts = Counter(kind for member in fleet.members for kind in member.kinds)
        else:
            self._renew_alone(kinds, now)
        self.kinds, self.renewed = kinds, (began, now)
        return self.shares != before

    def workers(self, kind: str) -> int:
        """Return how many living workers share the limits of a kind of target, this one included.

        More workers than shards have nothing to launch. Only the leader launches, if there is one.
        """
        return max(1, min(SHARDS, self.worker_counts[kind]))

    async def leave(self) -> None:
        """Leave the fleet: the other workers take over the shards of this one."""
        if self.settings.shard_lease and self.renewed is not None:
            await self.store.lease(self.owner, self.kinds, 0)
        self.renewed, self.shares = None, ()

    def informed(self, state: ScheduleState) -> ScheduleState:
        """Return the state with the latest downtime of the workers that can launch it.

        For a task of the declarative scheduler, every late period counts as missed in a downtime: one run replaces all
        of them.
        """
        is_declarative = state.policy.first_period is FirstPeriod.CURRENT_MINUTE
        downtime = ALWAYS if is_declarative else self.downtimes.get(kind_of(state.job.target), ALWAYS)
        return state if state.downtime == downtime else state._replace(downtime=downtime)

    def _renew_alone(self, kinds: frozenset[str], now: int) -> None:
        """Count a long time without a pass as a downtime: the host slept, or the process was stopped."""
        if now - self.last_pass > self.settings.lease or kinds != self.kinds:
            self.downtimes = dict.fromkeys(kinds, Downtime(self.last_pass + 1, now))
        self.shares = (Share(ALL_SHARDS, kinds),)
        self.last_pass = max(self.last_pass, now)
