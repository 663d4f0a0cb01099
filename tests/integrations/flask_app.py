"""Flask application of `web_kills`: plain jobs in threads, half of them created by a view."""

from __future__ import annotations

import os
import time

from flask import Flask, current_app

from kron import AlreadyExists
from kron.integrations.flask import Kron, current_scheduler
from tests.integrations.web_jobs import names
from tests.integrations.workload import OPTIONS, note, schedule, seconds

kron = Kron()
app = Flask("web")
app.config.update(KRON_STORE=os.environ["STORE"], KRON_SHUTDOWN_TIMEOUT=10)
kron.init_app(app)


@kron.task
def web_work() -> None:
    assert current_app.name == "web"
    note("begin")
    time.sleep(seconds())
    note("end")


for name in names("web", "declared"):
    kron.add(web_work, schedule(name), name=name, **OPTIONS)  # type: ignore[arg-type]


@app.post("/jobs/<name>")
def create(name: str) -> list[bool]:
    """Create a job; false if it exists, because the response of an earlier request was lost."""
    try:
        current_scheduler.sync.create(name, web_work, schedule(name), **OPTIONS)  # type: ignore[arg-type]
    except AlreadyExists:
        return [False]
    return [True]
