"""Source texts of embedded jobs: a restart writes nothing, and a new spelling is a revision."""

import asyncio

from kron import Scheduler
from kron.apps.wiring import open_store
from kron.timing.job import Source


def nothing(): ...


async def started(url, *declarations):
    """Start and stop a scheduler with those jobs, and return their revisions by name."""
    scheduler = Scheduler(url)
    for name, text, options in declarations:
        scheduler.add(nothing, text, name=name, **options)
    async with scheduler:
        pass
    async with open_store(url) as store:
        return {name: await store.revisions(name) for name, _, _ in declarations}


JOBS = [
    ("fuzzy", "daily around 14:00", {}),
    ("local", "daily around 14:00", {"timezone": "Europe/Paris"}),
    ("posix", "0 9 * * 1-5", {"dialect": "posix", "timezone": "Europe/Paris"}),
    ("kron", "0 9 * * mon-fri @tz(Europe/Paris) @win(after,30m)", {"dialect": "kron"}),
    ("service", "*/30 * * * * *", {"dialect": "service"}),
]


def test_restart_with_the_same_texts_writes_no_revision(tmp_path):
    url = f"sqlite:{tmp_path}/kron.db"
    for _ in range(3):
        found = asyncio.run(started(url, *JOBS))
    assert {name: len(revisions) for name, revisions in found.items()} == dict.fromkeys(found, 1)
    kept = {name: revisions[0].job for name, revisions in found.items()}
    assert {name: job.source for name, job in kept.items()} == {
        "fuzzy": Source("daily around 14:00", "fuzzy", "UTC"),
        "local": Source("daily around 14:00", "fuzzy", "Europe/Paris"),
        "posix": Source("0 9 * * 1-5", "posix", "Europe/Paris"),
        "kron": Source("0 9 * * mon-fri @tz(Europe/Paris) @win(after,30m)", "kron", None),
        "service": Source("*/30 * * * * *", "service", "UTC"),
    }
    assert {job.description for job in kept.values()} == {""}


def test_new_spelling_is_one_revision_with_the_same_times(tmp_path):
    url = f"sqlite:{tmp_path}/kron.db"
    for text in ("0 9 * * 1-5", "0 9 * * 1,2,3,4,5", "0 9 * * 1,2,3,4,5"):
        found = asyncio.run(started(url, ("report", text, {"dialect": "posix"})))
    first, second = found["report"]
    assert (first.job.source.text, second.job.source.text) == ("0 9 * * 1-5", "0 9 * * 1,2,3,4,5")
    assert first.job.schedule == second.job.schedule
