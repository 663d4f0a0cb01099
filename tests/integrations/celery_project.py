"""Celery project of the tests: `celery -A tests.integrations.celery_project beat`, configured by its environment."""

import json
import os

from celery import Celery

app = Celery("project", broker=os.environ.get("KRON_TEST_BROKER", "memory://"))
app.conf.kron_catchup = os.environ.get("KRON_TEST_CATCHUP", "all")
app.conf.broker_connection_timeout = 2


@app.task(name="project.note")
def note(entry: str) -> str:
    """Do nothing: the tests read the messages from the broker."""
    return entry


@app.on_after_finalize.connect
def schedule(sender: Celery, **_: object) -> None:
    """Add an entry for each name and interval of the environment."""
    for name, seconds in json.loads(os.environ.get("KRON_TEST_ENTRIES", "{}")).items():
        sender.add_periodic_task(float(seconds), note.s(name), name=name)
