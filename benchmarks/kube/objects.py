"""KronJobs and CronJobs with the same Job template, and the requests that create them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lightkube.config.kubeconfig import KubeConfig

from kron.kube.api import Api
from kron.kube.config import connect
from kron.kube.kind import CRONJOB, KRONJOB, Body

T = TypeVar("T")
PARALLEL = 16  # requests
TEMPLATE = {
    "metadata": {"labels": {"app": "report", "team": "billing"}},
    "spec": {
        "backoffLimit": 2,
        "template": {
            "metadata": {"labels": {"app": "report", "team": "billing"}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "report",
                        "image": "registry.example/billing/report:2026.11",
                        "command": ["/app/report", "--period", "daily", "--format", "csv"],
                        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(8)],
                        "resources": {
                            "requests": {"cpu": "100m", "memory": "128Mi"},
                            "limits": {"memory": "256Mi"},
                        },
                        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                    }
                ],
                "volumes": [{"name": "scratch", "emptyDir": {}}],
            },
        },
    },
}


def name_of(number: int) -> str:
    """Return the name of a KronJob or a CronJob."""
    return f"report-{number:05}"


def kronjob(name: str, schedule: str, **spec: Any) -> Body:
    """Return a KronJob."""
    return _body(KRONJOB, name, {"schedule": schedule, "jobTemplate": TEMPLATE, **spec})


def cronjob(name: str, schedule: str, **spec: Any) -> Body:
    """Return a CronJob."""
    return _body(CRONJOB, name, {"schedule": schedule, "timeZone": "Etc/UTC", "jobTemplate": TEMPLATE, **spec})


def _body(kind: Any, name: str, spec: Body) -> Body:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


def second_line(at: float, modifiers: str = "") -> str:
    """Return a schedule of Kron that is due in one second of the year."""
    moment = time.gmtime(at)
    fields = (moment.tm_sec, moment.tm_min, moment.tm_hour, moment.tm_mday, moment.tm_mon)
    return f"plus: {' '.join(map(str, fields))} * {modifiers}".rstrip()


def minute_line(at: float) -> str:
    """Return five fields that are due in one minute of the year."""
    moment = time.gmtime(at)
    return f"{moment.tm_min} {moment.tm_hour} {moment.tm_mday} {moment.tm_mon} *"


def asked(kubeconfig: Path, use: Callable[[Api], Awaitable[T]]) -> T:
    """Return what a coroutine returns that is given a client."""

    async def main() -> T:
        api = connect(KubeConfig.from_file(str(kubeconfig)).get())
        api.http.headers["User-Agent"] = "benchmark"
        try:
            return await use(api)
        finally:
            await api.close()

    return asyncio.run(main())


async def all_of(work: Sequence[Callable[[], Awaitable[object]]]) -> None:
    """Do work, some of it concurrently."""
    rest = iter(work)

    async def some() -> None:
        for each in rest:
            await each()

    await asyncio.gather(*(some() for _ in range(PARALLEL)))
