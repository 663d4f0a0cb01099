"""A CronJob that is due every minute, its KronJob, their controllers and an API server, in virtual time.

Each controller is late, and sees a change late. The command that switches can be killed before and after each write.
"""

import copy
from collections import Counter

from kron.apps.operator.cronjob import ImportOptions
from kron.apps.operator.switch.switcher import Switcher
from kron.kube.failure import Refusal
from kron.kube.kind import CRONJOB, KRONJOB, Place
from kron.timing.zone import instant_of, rfc3339
from tests.kube.bodies import merge
from tests.operator.specs import TEMPLATE

START = 1_772_359_200  # 2026-03-01T10:00:00Z
PLACE = Place("shop", "report")
MINUTE = 60


class Killed(BaseException):
    """The command was killed."""


class Machine:
    """The cluster. `lags`: seconds by which the CronJob controller and the operator are late."""

    def __init__(self, second=0, lags=(1, 1), latency=0.1, **spec):
        self.now = float(START + second)
        self.cronjob_lag, self.operator_lag = lags
        self.latency, self.version, self.writes = latency, 1, 0
        self.kills = {}  # number of a write: whether it is killed before it is done
        self.cronjob_ran, self.kronjob_ran = [], []
        self.objects, self.history = {}, {}
        self._put(CRONJOB, self._cronjob(spec))
        self.owed_status = []  # (time, tick): statuses that the CronJob controller writes after the Job
        self.generation_seen, self.effective_from, self.handled = 0, 0, 0
        self.told = []

    def _cronjob(self, spec):
        fields = {"schedule": "* * * * *", "timeZone": "UTC", "jobTemplate": TEMPLATE, **spec}
        metadata = {"name": PLACE.name, "namespace": PLACE.namespace, "creationTimestamp": rfc3339(START - 3600)}
        status = {"lastScheduleTime": rfc3339(int(self.now) // MINUTE * MINUTE - MINUTE)}
        return {"metadata": metadata, "spec": fields, "status": status}

    # the API server

    async def get(self, kind, place):
        await self.sleep(self.latency)
        return copy.deepcopy(self.objects.get(kind.name))

    async def create(self, kind, namespace, body):
        def work():
            if kind.name in self.objects:
                raise Refusal(409, {"reason": "AlreadyExists"})
            self._put(kind, {**copy.deepcopy(body), "status": {}})

        await self._write(work)

    async def patch(self, kind, place, patch):
        def work():
            old = self.objects[kind.name]
            if patch["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
                raise Refusal(409, {"reason": "Conflict"})
            new = copy.deepcopy(old)
            merge(new, patch)
            self._put(kind, new)

        await self._write(work)

    async def patch_status(self, kind, place, status):
        await self._write(lambda: self._set_status(kind, status))

    async def _write(self, work):
        await self.sleep(self.latency)
        number, self.writes = self.writes, self.writes + 1
        if self.kills.get(number) is True:
            raise Killed
        work()
        if self.kills.get(number) is False:
            raise Killed
        await self.sleep(self.latency)

    def _set_status(self, kind, status):
        new = copy.deepcopy(self.objects[kind.name])
        new.setdefault("status", {}).update(status)
        self._put(kind, new)

    def _put(self, kind, body):
        old = self.objects.get(kind.name) or {"metadata": {}}
        is_edit = old.get("spec") != body["spec"]
        body["metadata"]["generation"] = old["metadata"].get("generation", 0) + is_edit
        body["edited_at"] = self.now if is_edit else old["edited_at"]
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.objects[kind.name] = body
        self.history.setdefault(kind.name, []).append((self.now, body))

    def _seen(self, kind, lag):
        """An object as a controller sees it that is late."""
        return next((body for at, body in reversed(self.history.get(kind.name, [])) if at <= self.now - lag), None)

    # time, and the controllers

    async def sleep(self, seconds):
        until = self.now + seconds
        while self.now < until:
            step = min(until, int(self.now) + 1.0)
            self.now = step
            if step == int(step):
                self._run_controllers()

    def _run_controllers(self):
        for at, tick in list(self.owed_status):
            if at <= self.now:
                self.owed_status.remove((at, tick))
                self._set_status(CRONJOB, {"lastScheduleTime": rfc3339(tick)})
        self._run_cronjob_controller()
        self._run_operator()

    def _run_cronjob_controller(self):
        """Start the newest period after the last one, as the CronJob controller does: the Job, then the status."""
        body = self._seen(CRONJOB, min(2, self.cronjob_lag))
        if body is None or body["spec"].get("suspend") or self.owed_status:
            return
        last = instant_of(self.objects["CronJob"]["status"]["lastScheduleTime"])
        deadline = body["spec"].get("startingDeadlineSeconds")
        earliest = last if deadline is None else max(last, self.now - deadline)
        tick = int(self.now - self.cronjob_lag) // MINUTE * MINUTE
        if tick > earliest and tick not in self.cronjob_ran:  # the name of its Job is that of the period
            self.cronjob_ran.append(tick)
            self.owed_status.append((self.now + 1, tick))

    def _run_operator(self):
        """Run each period after the edit that made the KronJob active, and tell about the KronJob."""
        body = self._seen(KRONJOB, self.operator_lag)
        if body is None:
            return
        suspended = bool(body["spec"]["policy"].get("suspend"))
        if body["metadata"]["generation"] != self.generation_seen:
            edited = int(body["edited_at"])
            if self.generation_seen and not self.was_suspended:
                self._run_periods(edited)
            self.effective_from, self.generation_seen = edited, body["metadata"]["generation"]
            self.was_suspended = suspended
            self.handled = edited
        if not suspended:
            self._run_periods(int(self.now - self.operator_lag))
        following = self.handled // MINUTE * MINUTE + MINUTE
        status = {
            "observedGeneration": self.generation_seen,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nextPeriodID": None if suspended else rfc3339(following),
        }
        if any(self.objects["KronJob"]["status"].get(name) != value for name, value in status.items()):
            self._set_status(KRONJOB, status)

    def _run_periods(self, upto):
        for tick in range(self.handled // MINUTE * MINUTE + MINUTE, upto + 1, MINUTE):
            self.kronjob_ran.append(tick)
        self.handled = max(self.handled, upto)

    # the command, and an independent watcher

    def switcher(self):
        options = ImportOptions(int(self.now))
        return Switcher(self, PLACE, options, self.told.append, lambda: self.now, self.sleep)

    async def switch(self, step, delays=()):
        """Run the command; after each kill run it again."""
        delays = iter(delays)
        while True:
            try:
                return await self.switcher().run(step)
            except Killed:
                await self.sleep(next(delays, 0))

    def counts(self, first, last):
        """How often each period of a time ran."""
        ran = Counter([*self.cronjob_ran, *self.kronjob_ran])
        return {tick: ran[tick] for tick in range(first, last + 1, MINUTE)}
