"""Every form of a schedule runs: an interval, a moment, a text of the plus dialect, a line of another scheduler."""

import asyncio
from datetime import UTC, datetime

import pytest

from kron import Scheduler
from tests.forms import SOON, forms_due_soon


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_every_form_runs_on_every_store(kind, request, tmp_path):
    url = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path}/jobs.db"}.get(kind)
    scheduler = Scheduler(url or request.getfixturevalue("database"))
    ran = set()
    moment = (datetime.now(UTC) + SOON).replace(microsecond=0)
    forms = forms_due_soon(moment)
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
