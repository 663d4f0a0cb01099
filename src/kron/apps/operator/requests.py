"""Requests: runs that people ask for with the annotation `kron.io/run`. Each request gives one run."""

from __future__ import annotations

from kron.apps.operator.events import NORMAL, WARNING, Tell
from kron.apps.operator.kronjob import KronJob
from kron.engine.registrar import Registrar
from kron.errors import KronError
from kron.kube.kind import Place
from kron.kube.names import job_name
from kron.rules.pause import Actor

MAX_AGE_SECONDS = 3_600  # of an annotation: a request that nobody heard in time is not run days later


class Requests:
    """Reader of requests. The store knows each request by its name, so a repeated one changes nothing."""

    def __init__(self, registrar: Registrar, tell: Tell) -> None:
        self.registrar, self.tell = registrar, tell
        self._handled: dict[Place, tuple[str, str]] = {}

    async def apply(self, identity: str, kronjob: KronJob) -> None:
        """Run a KronJob now if its annotation asks for it."""
        request = kronjob.run_text
        if not request or self._handled.get(kronjob.place) == (kronjob.uid, request):
            return
        now = await self.registrar.store.now() // 1000
        if kronjob.requested_at is not None and now - kronjob.requested_at > MAX_AGE_SECONDS:
            self.tell(kronjob, WARNING, "RequestExpired", f"Request {request!r} is older than an hour and is not run.")
        else:
            await self._run(identity, kronjob, request)
        self._handled[kronjob.place] = (kronjob.uid, request)

    def forget(self, place: Place) -> None:
        """Forget a KronJob that is gone."""
        self._handled.pop(place, None)

    async def _run(self, identity: str, kronjob: KronJob, request: str) -> None:
        try:
            run = await self.registrar.trigger(identity, request, Actor(f"annotation:{kronjob.editor}"))
        except KronError as error:
            self.tell(kronjob, WARNING, "RequestRefused", str(error))
        else:
            name = job_name(kronjob.place.name, run.key)
            self.tell(kronjob, NORMAL, "Requested", f"Request {request!r} is recorded; its Job is {name}.")
