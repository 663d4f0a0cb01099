"""Template check: the API server judges each Job template once per generation, by a request that creates nothing."""

from __future__ import annotations

from collections.abc import Callable

from kron.apps.operator.events import WARNING, Tell
from kron.apps.operator.identities import Identities
from kron.apps.operator.kronjob import KronJob
from kron.apps.operator.work_queue import WorkQueue
from kron.kube.api import Api
from kron.kube.failure import Refusal
from kron.kube.kind import JOB, Body, Place
from kron.kube.names import job_of
from kron.rules.run import Run
from kron.rules.run_state import State

INVALID = frozenset({400, 422})  # statuses by which the API server refuses the template itself
TYPE = "TemplateValid"


class TemplateCheck:
    """Checker of templates.

    Args:
        api: The API server.
        identities: Identities of the KronJobs.
        find: Returns a KronJob of the cluster.
        tell: Tells events about KronJobs.
        changed: Called after a template was checked.
    """

    def __init__(
        self,
        api: Api,
        identities: Identities,
        find: Callable[[Place], KronJob | None],
        tell: Tell,
        changed: Callable[[Place], None] = lambda place: None,
    ) -> None:
        self.api, self.identities, self.find, self.tell, self.changed = api, identities, find, tell, changed
        self.queue = WorkQueue("template check", self.check, parallel=2)
        self._found: dict[Place, tuple[str, Body]] = {}  # unique identifier of the KronJob, and the condition

    def request(self, place: Place) -> bool:
        """Check the template of a KronJob, unless this generation was checked. Returns whether `changed` follows."""
        kronjob = self.find(place)
        if kronjob is None:
            self._found.pop(place, None)
        elif not kronjob.is_deleting and self.condition(kronjob) is None:
            self.queue.put(place)
            return True
        return False

    def condition(self, kronjob: KronJob) -> Body | None:
        """Return the condition of the present generation; None if it was not checked."""
        uid, found = self._found.get(kronjob.place, ("", {}))
        if uid == kronjob.uid and found.get("observedGeneration") == kronjob.generation:
            return found
        for each in kronjob.status.get("conditions") or ():
            if each.get("type") == TYPE and each.get("observedGeneration") == kronjob.generation:
                return {name: each[name] for name in (*_FIELDS, "observedGeneration") if name in each}
        return None

    async def check(self, place: Place) -> None:
        """Check a template. The request is repeated if the API server refuses it for another reason."""
        try:
            await self._check(place)
        finally:
            self.changed(place)

    async def _check(self, place: Place) -> None:
        kronjob = self.find(place)
        if kronjob is None or kronjob.is_deleting or not self.identities.is_mine(self.identities.of(place)):
            return
        owner = kronjob.owner
        if owner is None:
            return  # the spec itself is invalid
        run = Run("0" * 64, self.identities.of(place), 0, 0, 0, State.PENDING)
        condition = {"type": TYPE, "status": "True", "reason": "Accepted"}
        try:
            await self.api.create(JOB, place.namespace, job_of(owner, run), dry_run=True)
        except Refusal as refusal:
            if refusal.status not in INVALID:
                raise
            condition |= {"status": "False", "reason": "Invalid", "message": refusal.message[:1000]}
            self.tell(kronjob, WARNING, "TemplateInvalid", refusal.message)
        self._found[place] = (kronjob.uid, condition | {"observedGeneration": kronjob.generation})


_FIELDS = ("type", "status", "reason", "message")
