"""APScheduler 3 with its SQLAlchemy store in a SQLite file, all jobs due at the same minute; late ones are not dropped.

python -m benchmarks.embedded.apscheduler3 N
"""

from __future__ import annotations

import sys
import tempfile
import time

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from benchmarks.embedded.result import Memory, measured

A_JOB = 15e-3  # seconds to add one, at most
PATIENCE = 240.0
starts: list[float] = []


def tick() -> None:
    """The job."""
    starts.append(time.time())


def main(count: int) -> None:
    """Measure, and print it for the one who asked."""
    boundary = (int(time.time() + 5 + count * A_JOB) // 60 + 1) * 60
    with tempfile.TemporaryDirectory() as folder:
        memory, began = Memory(), time.perf_counter()
        scheduler = BackgroundScheduler(
            jobstores={"default": SQLAlchemyJobStore(url=f"sqlite:///{folder}/jobs.db")}, timezone="UTC"
        )
        for number in range(count):
            job = "benchmarks.embedded.apscheduler3:tick"
            minute = boundary // 60 % 60
            scheduler.add_job(job, "cron", minute=minute, id=f"job-{number}", misfire_grace_time=None)
        scheduler.start()
        begin, held = time.perf_counter() - began, memory.now()
        while len(starts) < count and time.time() < boundary + PATIENCE:
            time.sleep(0.1)
        found = measured("APScheduler 3, SQLite", count, boundary, starts, begin=begin, memory=held, peak=memory.peak())
        print(found.text(), flush=True)
        scheduler.shutdown(wait=False)


if __name__ == "__main__":
    from benchmarks.embedded import apscheduler3

    apscheduler3.main(int(sys.argv[1]))  # as a module: that is where its job finds the list
