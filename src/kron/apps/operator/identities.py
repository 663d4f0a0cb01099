"""Identities of KronJobs: the schedule of each KronJob, and the schedules for which this operator is responsible."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from typing import NamedTuple

from kron.apps.operator.definition import OperatorDefaults, identity_of
from kron.engine.fleet import Share, shard_of
from kron.engine.store import Store
from kron.kube.kind import Place
from kron.rules.state import ScheduleState

PAGE_SIZE = 500  # schedules read at once


class Identities(NamedTuple):
    """Identities of the KronJobs of one operator."""

    defaults: OperatorDefaults
    namespaces: Collection[str] = ()  # empty: all
    shares: Callable[[], Collection[Share]] | None = None  # of this operator's worker; None: it works alone

    def of(self, place: Place) -> str:
        """Return the identity of a KronJob."""
        return identity_of(place, self.defaults)

    def place(self, identity: str) -> Place | None:
        """Return the place of the KronJob with an identity; None if it is none of this operator."""
        prefix = self.defaults.identity_prefix
        namespace, _, name = identity.removeprefix(prefix).partition("/")
        is_own = identity.startswith(prefix) and namespace and name and "/" not in name
        return Place(namespace, name) if is_own and (not self.namespaces or namespace in self.namespaces) else None

    def is_mine(self, identity: str) -> bool:
        """Return whether this operator's worker has the shard of a schedule."""
        if self.shares is None:
            return True
        shard = shard_of(identity)
        return any(shard in share.shards for share in self.shares())

    async def states(self, store: Store) -> AsyncIterator[tuple[Place, ScheduleState]]:
        """Yield the schedules of KronJobs that the store has and that are not deleted."""
        last, prefix = "", self.defaults.identity_prefix
        while page := await store.identities(last, PAGE_SIZE, prefix):
            last = page[-1]
            for state in await store.get(page):
                place = self.place(state.identity) if state else None
                if state and place and state.job.target == f"{self.defaults.scheme}:{place.namespace}/{place.name}":
                    yield place, state
