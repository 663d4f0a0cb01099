"""Every form of a schedule runs: an interval, a moment, a text of the plus dialect, a line of another scheduler."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kron import Scheduler

SOON = timedelta(seconds=3)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_every_form_runs_on_every_store(kind, request, tmp_path):
    url = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/jobs.db"}.get(kind)
    scheduler = Scheduler(url or request.getfixturevalue("database"))
    ran = set()
    moment = (datetime.now(UTC) + SOON).replace(microsecond=0)
    forms = {
        "every": {"every": "1s"},
        "at": {"at": moment},
        "plus": {"schedule": "plus: * * * * * * @valid(from=2026-01-01T00:00)"},
        "rule": {"schedule": "plus: */2 * * * * * @tz(Europe/Paris) @dst(once)"},
        "days": {"schedule": "plus: * * * * * * @days(every=1d,from=2026-01-01)"},
        "quartz": {"schedule": "* * * * * ?", "dialect": "quartz"},
    }
    for name, options in forms.items():
        scheduler.add(ran.add, name=name, args=(name,), **options)

    async def script():
        async with scheduler, asyncio.timeout(30):
            while ran != set(forms):
                await asyncio.sleep(0.05)
            return (await scheduler.next("at")), (await scheduler.next("every"))

    after_the_last, following = asyncio.run(script())
    assert after_the_last is None
    assert following is not None
