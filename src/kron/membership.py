"""Membership: a worker's place in the fleet, renewed in time: what it can launch, and where it looks."""

from __future__ import annotations

from collections.abc import Mapping

from kron.clock import Timer
from kron.core.case import Case
from kron.core.downtime import ALWAYS, EVER, Downtime
from kron.core.policy import FirstSight
from kron.fleet import ALL_SHARDS, Share, kind_of, leader, shares
from kron.launcher import Launcher, count_kinds, kinds_of
from kron.settings import Settings
from kron.store import Store


class Membership:
    """Knows the shares of one worker. A worker that works alone asks nobody, and has everything."""

    def __init__(
        self, store: Store, owner: str, launchers: Mapping[str, Launcher], timer: Timer, settings: Settings
    ) -> None:
        self.store, self.owner, self.launchers = store, owner, launchers
        self.timer, self.settings = timer, settings
        self.kinds = frozenset[str]()
        self.shares: tuple[Share, ...] = ()
        self.downtimes: Mapping[str, Downtime] = {}
        self.renewed: tuple[float, int] | None = None  # when, by the timer and by the store; None: it is no member
        self.last = -EVER  # when it last made a pass, where it works alone

    def due(self, now: int) -> bool:
        """Whether the lease is to be renewed: every third of its length, and when there is something new to launch."""
        if self.renewed is None or count_kinds(self.launchers) != len(self.kinds) or not self.settings.shard_lease:
            return True
        began, then = self.renewed
        passed = max((self.timer.monotonic() - began) * 1000, now - then, then - now)
        return passed >= self.settings.shard_lease / 3

    async def renew(self, now: int) -> bool:
        """Say that this worker lives, and learn who else does. Whether it looks elsewhere from now on."""
        before, began, kinds = self.shares, self.timer.monotonic(), kinds_of(self.launchers)
        if self.settings.shard_lease:
            fleet = await self.store.lease(self.owner, kinds, self.settings.shard_lease)
            leads = leader(fleet.members, kinds) == self.owner
            alone = (Share(ALL_SHARDS, kinds),) if leads else ()
            self.shares = alone if self.settings.lead else shares(self.owner, fleet.members)
            self.downtimes = fleet.downtimes
        else:
            self._go_on_alone(kinds, now)
        self.kinds, self.renewed = kinds, (began, now)
        return self.shares != before

    async def leave(self) -> None:
        """Leave the fleet: the others take over what this worker looked at."""
        if self.settings.shard_lease and self.renewed is not None:
            await self.store.lease(self.owner, self.kinds, 0)
        self.renewed, self.shares = None, ()

    def informed(self, case: Case) -> Case:
        """The case, with the last downtime of those who can launch it.

        For a task of the declarative scheduler, whatever is late was missed: however many there were, one runs.
        """
        one = case.policy.first_sight is FirstSight.CURRENT_MINUTE
        downtime = ALWAYS if one else self.downtimes.get(kind_of(case.job.target), ALWAYS)
        return case if case.downtime == downtime else case._replace(downtime=downtime)

    def _go_on_alone(self, kinds: frozenset[str], now: int) -> None:
        """A long time without a pass was a downtime: the host slept, or the process stood still."""
        if now - self.last > self.settings.lease or kinds != self.kinds:
            self.downtimes = dict.fromkeys(kinds, Downtime(self.last + 1, now))
            self.shares = (Share(ALL_SHARDS, kinds),)
        self.last = max(self.last, now)
