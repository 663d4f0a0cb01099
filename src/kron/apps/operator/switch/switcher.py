"""Switcher: does the steps of a switch, one request each, and reads the cluster again before each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from kron.apps.operator.cronjob import ImportOptions, convert
from kron.apps.operator.switch.cronjob_side import SUSPENDED_AT as CRONJOB_SUSPENDED_AT
from kron.apps.operator.switch.cronjob_side import cronjob_side
from kron.apps.operator.switch.kronjob_side import PHASE, SUSPENDED_AT, KronJobSide, Phase, kronjob_side
from kron.apps.operator.switch.step import Action, Pair, Step
from kron.errors import InvalidInput, NotFound, Unavailable
from kron.kube.api import Api
from kron.kube.failure import BUSY, NoAnswer, Refusal
from kron.kube.kind import CRONJOB, KRONJOB, Body, Place
from kron.timing.zone import rfc3339

CONFLICT = 409
PATIENCE_SECONDS = 60.0  # for an API server that does not answer, and for the operator
MAX_SECONDS = 7_200.0  # of a whole switch
NextStep = Callable[[Pair, int], Step]


class Changes(NamedTuple):
    """Changes of one object, with the version that it must have."""

    version: str
    annotations: Mapping[str, str | None]
    spec: Body | None = None

    @property
    def patch(self) -> Body:
        """Merge patch."""
        metadata: Body = {"resourceVersion": self.version, "annotations": dict(self.annotations)}
        return {"metadata": metadata, **({"spec": self.spec} if self.spec is not None else {})}


class Switcher:
    """Switcher of one CronJob and its KronJob.

    Args:
        api: The API server.
        place: Namespace and name of both.
        options: How the CronJob becomes a KronJob, if there is none yet.
        tell: Tells the user a line.
        now: Returns the time of the API server in seconds.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        api: Api,
        place: Place,
        options: ImportOptions,
        tell: Callable[[str], None],
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.api, self.place, self.options, self.tell = api, place, options, tell
        self.now, self.sleep = now, sleep
        self._told = ""
        self._notes: tuple[str, ...] = ()
        self._new: Body = {}  # the KronJob to create

    async def run(self, next_step: NextStep) -> None:
        """Do all steps.

        Raises:
            KronError: The switch is not possible, or a controller or the API server does not answer. The command can
                be repeated.
            Refusal: The API server refuses a request.
        """
        began, unanswered, unaccepted = self.now(), None, None
        while True:
            try:
                pair = await self._read()
                step = next_step(pair, int(self.now()))
                await self._do(step, pair)
            except (NoAnswer, Refusal) as failure:
                if isinstance(failure, Refusal) and failure.status == CONFLICT:
                    await self.sleep(0.1)  # an object has changed since it was read
                    continue
                if not _is_passing(failure) or (unanswered and self.now() - unanswered > PATIENCE_SECONDS):
                    raise
                unanswered = unanswered or self.now()
                await self.sleep(1.0)
                continue
            unanswered = None
            if step.action is Action.END:
                return
            unaccepted = (unaccepted or self.now()) if step.waits_for_operator else None
            self._check_patience(step, began, unaccepted)

    def _check_patience(self, step: Step, began: float, unaccepted: float | None) -> None:
        now = self.now()
        if unaccepted is not None and now - unaccepted > PATIENCE_SECONDS:
            hint = f"check that the operator runs and watches namespace {self.place.namespace}; repeat the command"
            raise Unavailable("UNREACHABLE", f"{step.text}, for {PATIENCE_SECONDS:.0f} s", hint=hint)
        if step.action is Action.WAIT and now - began > MAX_SECONDS:
            message = f"{step.text}, and the command has waited for {MAX_SECONDS / 3600:.0f} h"
            raise InvalidInput(
                "CANNOT_SWITCH", message, hint="neither has taken over from the other; repeat the command later"
            )

    async def _read(self) -> Pair:
        name = "/".join(self.place)
        cronjob = await self.api.get(CRONJOB, self.place)
        if cronjob is None:
            raise NotFound("NOT_FOUND", f"no CronJob {name}", hint="see kubectl get cronjobs -A for all CronJobs")
        (conversion,) = convert([cronjob], self.options)
        if conversion.error is not None or conversion.schedule is None:
            raise conversion.error or InvalidInput("BAD_FIELD", f"CronJob {name} has no schedule")
        self._notes = conversion.notes
        side = cronjob_side(cronjob, conversion.schedule)
        if not (cronjob["spec"].get("timeZone") or self.options.cluster_zone) and not side.has_times_of_schedule:
            message = f"CronJob {name} last ran at {rfc3339(side.last_started or 0)}, which is no time of it in UTC"
            raise InvalidInput("BAD_FIELD", message, hint="give the zone of kube-controller-manager by --cluster-zone")
        kronjob = await self.api.get(KRONJOB, self.place)
        self._new = _suspended(conversion.kronjob or {})
        return Pair(name, side, None if kronjob is None else kronjob_side(kronjob))

    async def _do(self, step: Step, pair: Pair) -> None:
        if step.action is Action.WAIT:
            self._tell(step.text)
            await self.sleep(min(step.seconds, 5.0))  # an object can change meanwhile
            return
        if step.action is Action.CREATE:
            await self.api.create(KRONJOB, self.place.namespace, self._new)
        elif step.action in (Action.SUSPEND_CRONJOB, Action.RESUME_CRONJOB, Action.UNMARK_CRONJOB):
            await self._change_cronjob(pair, step.action)
        elif step.action is Action.SET_LAST_TIME:
            await self.api.patch_status(CRONJOB, self.place, {"lastScheduleTime": rfc3339(step.at)})
        elif step.action is not Action.END and pair.kronjob is not None:
            await self.api.patch(KRONJOB, self.place, self._changes_of_kronjob(step.action, pair.kronjob).patch)
        self._tell(step.text)
        for note in self._notes if step.action is Action.CREATE else ():
            self._tell(f"note: {note}")

    async def _change_cronjob(self, pair: Pair, action: Action) -> None:
        is_suspending = action is Action.SUSPEND_CRONJOB
        mark = rfc3339(int(self.now())) if is_suspending else None
        spec = None if action is Action.UNMARK_CRONJOB else {"suspend": is_suspending}
        changes = Changes(pair.cronjob.version, {CRONJOB_SUSPENDED_AT: mark}, spec)
        await self.api.patch(CRONJOB, self.place, changes.patch)

    def _changes_of_kronjob(self, action: Action, kronjob: KronJobSide) -> Changes:
        version = kronjob.version
        if action is Action.BEGIN:
            return Changes(version, {PHASE: Phase.WAITING, SUSPENDED_AT: None})
        if action is Action.LIFT_KRONJOB:
            return Changes(version, {PHASE: Phase.DONE}, {"policy": {"suspend": None}})
        if action is Action.SUSPEND_KRONJOB:
            marks = {PHASE: Phase.BACK, SUSPENDED_AT: rfc3339(int(self.now()))}
            return Changes(version, marks, {"policy": {"suspend": True}})
        if action is Action.FINISH:
            return Changes(version, {PHASE: Phase.DONE})
        return Changes(version, {PHASE: None, SUSPENDED_AT: None})

    def _tell(self, text: str) -> None:
        """Tell a line, once for all waits with the same reason."""
        if text != self._told:
            self.tell(text)
        self._told = text


def _suspended(body: Body) -> Body:
    """Return a KronJob as it is created: suspended, and marked as waiting."""
    metadata, spec = body["metadata"], body["spec"]
    annotations: dict[str, Any] = {**(metadata.get("annotations") or {}), PHASE: Phase.WAITING}
    policy = {**(spec.get("policy") or {}), "suspend": True}
    return {**body, "metadata": {**metadata, "annotations": annotations}, "spec": {**spec, "policy": policy}}


def _is_passing(failure: NoAnswer | Refusal) -> bool:
    """Return whether the same request can succeed soon."""
    if isinstance(failure, NoAnswer):
        return True
    return failure.status in BUSY or failure.status >= 500
