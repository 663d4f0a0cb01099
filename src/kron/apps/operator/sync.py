"""Sync: KronJobs of the cluster become schedules of the store.

At the start, all KronJobs are defined before any period is planned: what fell due before an edit belongs to the
definition that was in force, and is never run because of the edit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kron.apps.operator.definition import job_of_kronjob
from kron.apps.operator.deletion_hold import DeletionHold
from kron.apps.operator.events import NORMAL, WARNING, Tell
from kron.apps.operator.identities import PAGE_SIZE, Identities
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.pauses import OPERATOR, Pauses
from kron.apps.operator.requests import Requests
from kron.apps.operator.work_queue import WorkQueue
from kron.engine.registrar import Registrar
from kron.errors import KronError
from kron.kube.kind import Place
from kron.rules.edit import defined
from kron.rules.pause import Actor
from kron.rules.state import ScheduleState
from kron.rules.update import ScheduleUpdate
from kron.timing.job import Job

RECREATED_MS = 10_000  # by which a KronJob must be younger than its schedule's revision to count as a new one
Find = Callable[[Place], KronJob | None]
Changed = Callable[[Place], None]


class Definition(NamedTuple):
    """Definition of a KronJob, with what the store needs to know about its change."""

    kronjob: KronJob
    job: Job
    actor: Actor
    as_of: int | None  # milliseconds

    def since(self, state: ScheduleState | None) -> int | None:
        """Return when the KronJob was changed; None if that is not known.

        A time that is not later than the present definition is that of an older change: Kubernetes 1.20 tells no time
        for a change that only gives other values to fields that were set by the same program.
        """
        if self.as_of is None or state is None or state.deleted:
            return self.as_of
        return self.as_of if self.as_of // 1000 > state.effective_from // 1000 else None


class Sync:
    """Writer of schedules.

    Args:
        registrar: Writes the schedules.
        identities: Identities of the KronJobs.
        find: Returns a KronJob of the cluster.
        tell: Tells events about KronJobs.
        changed: Called after a KronJob was handled.
    """

    def __init__(
        self,
        registrar: Registrar,
        identities: Identities,
        find: Find,
        tell: Tell,
        changed: Changed = lambda place: None,
    ) -> None:
        self.registrar, self.identities, self.find, self.tell, self.changed = registrar, identities, find, tell, changed
        self.pauses = Pauses(registrar)
        self.requests = Requests(registrar, tell)
        self.hold = DeletionHold(self._held, self._delete_later)
        self.queue = WorkQueue("definition", self.define, parallel=8)
        self.errors: dict[Place, str] = {}  # of KronJobs whose spec is invalid
        self._uids: dict[Place, str] = {}

    def kronjob_changed(self, before: KronJob | None, after: KronJob | None) -> None:
        """Note a change of a KronJob. A new status alone is none."""
        if after is not None and (before is None or before.cause != after.cause):
            self.hold.release(after.place)
            self.queue.put(after.place)

    def kronjobs_deleted(self, kronjobs: Sequence[KronJob], *, by_list: bool) -> None:
        """Note KronJobs that are gone."""
        places = [kronjob.place for kronjob in kronjobs]
        if by_list:
            self.hold.vanished(places, len(self._uids))
        else:
            for place in places:
                self.queue.put(place)

    async def define_all(self, kronjobs: Sequence[KronJob]) -> None:
        """Define all KronJobs, in batches. Call it before the worker starts."""
        definitions = list[Definition]()
        for kronjob in kronjobs:
            definition = None if kronjob.is_deleting else self._definition(kronjob)
            if definition is not None:
                definitions.append(definition)
        for start in range(0, len(definitions), PAGE_SIZE):
            await self._define_batch(definitions[start : start + PAGE_SIZE])
            await asyncio.sleep(0)
        for kronjob in kronjobs:
            if kronjob.place in self.errors or kronjob.is_deleting:
                await self.define(kronjob.place)
            elif kronjob.run_text:
                self.queue.put(kronjob.place)

    async def bury(self) -> None:
        """Delete the schedules whose KronJobs are not in the cluster. Call it once, after a complete list."""
        known, gone = 0, list[Place]()
        async for place, _ in self.identities.states(self.registrar.store):
            known += 1
            if self.find(place) is None:
                gone.append(place)
        self.hold.vanished(gone, known)

    async def define(self, place: Place) -> None:
        """Bring the schedule of a KronJob up to date."""
        kronjob = self.find(place)
        if kronjob is None or kronjob.is_deleting:
            if not self.hold.holds(place):
                await self._delete(place)
        else:
            await self._define(kronjob)
        self.changed(place)

    async def _define(self, kronjob: KronJob) -> None:
        definition, identity = self._definition(kronjob), self.identities.of(kronjob.place)
        (state,) = await self.registrar.store.get([identity])
        if definition is None:
            await self.pauses.stop(state, self.errors[kronjob.place])
            return
        if state is not None and not state.deleted and self._is_another(kronjob, state):
            await self.registrar.delete(identity, Actor(OPERATOR, "the KronJob was created again"))
        after = kronjob.last_period if state is None else None
        as_of = definition.since(state)
        state = await self.registrar.upsert(definition.job, definition.actor, as_of=as_of, after=after)
        self._uids[kronjob.place] = kronjob.uid
        await self.pauses.apply(state, kronjob)
        await self.requests.apply(identity, kronjob)

    async def _define_batch(self, definitions: Sequence[Definition]) -> None:
        """Write many definitions at once; one by one those that need more than a new revision."""
        store = self.registrar.store
        states, now = await store.get_with_time([each.job.identity for each in definitions])
        updates, others = list[tuple[Definition, ScheduleUpdate]](), list[Definition]()
        for definition, state in zip(definitions, states, strict=True):
            kronjob, is_fresh = definition.kronjob, state is None or state.deleted
            is_another = state is not None and not is_fresh and self._is_another(kronjob, state)
            if is_another or kronjob.pause_text or (state is not None and state.paused):
                others.append(definition)
                continue
            self._uids[kronjob.place] = kronjob.uid
            after = kronjob.last_period if state is None else None
            update = defined(definition.job, state, now, definition.actor, definition.since(state), after)
            if update is not None:
                updates.append((definition, update))
        committed = await store.commit([update for _, update in updates], now)
        others += [each for (each, _), is_committed in zip(updates, committed, strict=True) if not is_committed]
        for definition in others:
            await self._define(definition.kronjob)
        for definition in definitions:
            self.changed(definition.kronjob.place)

    def _definition(self, kronjob: KronJob) -> Definition | None:
        """Return the definition of a KronJob; None if its spec is invalid, which is told once per generation."""
        try:
            job = job_of_kronjob(kronjob.place, kronjob.spec, self.identities.defaults)
        except KronError as error:
            text = str(error)
            if self.errors.get(kronjob.place) != text:
                self.tell(kronjob, WARNING, "InvalidSpec", text)
            self.errors[kronjob.place] = text
            return None
        if self.errors.pop(kronjob.place, None):
            self.tell(kronjob, NORMAL, "ValidSpec", "The spec is valid again.")
        actor = Actor(kronjob.editor, f"generation {kronjob.generation}")
        return Definition(kronjob, job, actor, edit_ms(kronjob))

    def _is_another(self, kronjob: KronJob, state: ScheduleState) -> bool:
        """Return whether a KronJob was deleted and created again since its schedule was defined."""
        known = self._uids.get(kronjob.place)
        if known is not None:
            return known != kronjob.uid
        return kronjob.created * 1000 > state.effective_from + RECREATED_MS

    async def _delete(self, place: Place) -> None:
        identity = self.identities.of(place)
        (state,) = await self.registrar.store.get([identity])
        if state is not None and not state.deleted:
            await self.registrar.delete(identity, Actor(OPERATOR, "the KronJob was deleted"))
        self._uids.pop(place, None)
        self.errors.pop(place, None)
        self.requests.forget(place)

    def _delete_later(self, place: Place) -> None:
        self.queue.put(place)

    def _held(self, places: Sequence[Place], seconds: float) -> None:
        """Tell that many KronJobs vanished at once. They have no object any more to which an event could belong."""
        self.tell.vanished(len(places), seconds)


def edit_ms(kronjob: KronJob) -> int | None:
    """Return when the spec of a KronJob was changed, in milliseconds; None if it is not known.

    The API server tells seconds. The end of that second is taken: nothing that was due in it runs because of the edit.
    """
    if kronjob.edited_at is None:
        return None
    return max(kronjob.edited_at, kronjob.created) * 1000 + 999
