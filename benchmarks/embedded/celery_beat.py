"""Celery beat with its own file and a broker in memory, all entries due at the same minute.

What is measured is when beat has published the message: no worker takes part.

    python -m benchmarks.embedded.celery_beat N
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from typing import Any

from celery import Celery
from celery.beat import Service
from celery.schedules import crontab
from celery.signals import after_task_publish

from benchmarks.embedded.result import Memory, measured

AN_ENTRY = 3e-3  # seconds to begin with one, at most
PATIENCE = 240.0
starts: list[float] = []


def published(**_: Any) -> None:
    """A message is out."""
    starts.append(time.time())


def main(count: int) -> None:
    """Measure, and print it for the one who asked."""
    after_task_publish.connect(published)
    boundary = (int(time.time() + 5 + count * AN_ENTRY) // 60 + 1) * 60
    with tempfile.TemporaryDirectory() as folder:
        memory, began = Memory(), time.perf_counter()
        app = Celery("peer", broker="memory://", timezone="UTC", enable_utc=True)
        due = crontab(minute=str(boundary // 60 % 60))
        app.conf.beat_schedule = {f"job-{n}": {"task": "tick", "schedule": due} for n in range(count)}
        service = Service(app, max_interval=1, schedule_filename=f"{folder}/schedule")
        service.scheduler  # noqa: B018  is made when it is asked for
        begin, held = time.perf_counter() - began, memory.now()
        threading.Thread(target=service.start, kwargs={"embedded_process": False}, daemon=True).start()
        while len(starts) < count and time.time() < boundary + PATIENCE:
            time.sleep(0.1)
        found = measured("Celery beat, file", count, boundary, starts, begin=begin, memory=held, peak=memory.peak())
        print(found.text(), flush=True)
        service.stop(wait=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
