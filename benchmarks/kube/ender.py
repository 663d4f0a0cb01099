"""End Jobs by their status, as the controller of Jobs does when their pods end. The same for both sides.

    python -m benchmarks.kube.ender KUBECONFIG NAMESPACE SECONDS

Each Job of the namespace ends some seconds after it was seen. The process runs until it is stopped.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.kube.objects import asked
from kron.kube.api import Api
from kron.kube.failure import NoAnswer, Refusal
from kron.kube.kind import JOB, Body, Place
from kron.kube.mirror import Entry, Mirror
from kron.timing.zone import rfc3339

PARALLEL = 8  # requests


def ended(now: float) -> Body:
    """Return the status of a Job that has succeeded."""
    at = rfc3339(int(now))
    conditions = [
        {"type": name, "status": "True", "lastProbeTime": at, "lastTransitionTime": at}
        for name in ("SuccessCriteriaMet", "Complete")
    ]
    return {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions}


class Ender:
    """Watcher of the Jobs of a namespace, which lets them end."""

    def __init__(self, api: Api, namespace: str, seconds: float) -> None:
        self.api, self.seconds = api, seconds
        self.slots, self.tasks = asyncio.Semaphore(PARALLEL), set[asyncio.Task[None]]()
        self.mirror = Mirror(api, JOB, _is_ended, self._changed, namespace=namespace)

    def _changed(self, place: Place, before: Entry[bool] | None, after: Entry[bool] | None) -> None:
        if before is None and after is not None and not after.value:
            task = asyncio.ensure_future(self._end(place))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _end(self, place: Place) -> None:
        await asyncio.sleep(self.seconds)
        async with self.slots:
            with suppress(Refusal, NoAnswer):  # it was deleted
                await self.api.patch_status(JOB, place, ended(time.time()))


def _is_ended(job: Body) -> bool:
    return bool((job.get("status") or {}).get("conditions"))


def main(words: list[str]) -> None:
    """End Jobs until this process is stopped."""
    kubeconfig, namespace, seconds = words
    asked(Path(kubeconfig), lambda api: Ender(api, namespace, float(seconds)).mirror.run())


if __name__ == "__main__":
    main(sys.argv[1:])
