"""Settings are settings: a stored definition holds what its author gave, and follows the settings in the rest."""

import asyncio
import json
from dataclasses import replace

import pytest

from kron.apps.service.config import Config
from kron.apps.service.preset import preset_of, presets_of
from kron.apps.service.schemas.definition import job_of
from kron.apps.service.schemas.requests import Definition
from kron.apps.wiring import open_store
from kron.engine.registrar import Registrar
from kron.timing.schedule.policy import MILLISECOND, SERVICE, Catchup, Overlap
from tests.service.http import SECRET, serving

BASE = Config(auth="none", webhook_secret=SECRET)
BODY = {"schedule": "*/5 * * * *", "target": "https://example.com/hook"}
CHANGES = [
    ({"tick_ms": 500}, {}),
    ({"lookahead_ms": 30_000}, {"spread_over": 30_000 * MILLISECOND}),
    ({"max_catchup_per_tick": 7}, {"catchup_limit": 7}),
    ({"run_lease_ms": 90_000}, {"run_lease": 90_000 * MILLISECOND}),
    ({"misfire_grace_ms": 20_000}, {"grace": 20_000 * MILLISECOND}),
    ({"default_overlap_policy": "queue"}, {"overlap": Overlap.QUEUE}),
    ({"default_catchup_policy": "spread"}, {"catchup": Catchup.SPREAD}),
    ({"default_jitter_ms": 250}, {"jitter": 250 * MILLISECOND}),
]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path}/kron.db"
        return
    server = request.getfixturevalue("server")
    name = server.database()
    yield server.url(name)
    server.drop(name)


async def defined(url, config, **body):
    """Define a schedule under a configuration; what the store then holds, read under it."""
    async with open_store(url, presets=presets_of(config)) as store:
        job, _ = job_of(Definition(**{**BODY, **body}), "a", config, 0)
        await Registrar(store).upsert(job)
        (case,) = await store.get(["a"])
        return case, job


async def read(url, config):
    async with open_store(url, presets=presets_of(config)) as store:
        (case,) = await store.get(["a"])
        return case


@pytest.mark.parametrize(("setting", "axes"), CHANGES, ids=[next(iter(each[0])) for each in CHANGES])
def test_changed_setting_takes_effect_on_what_exists(url, setting, axes):
    changed = replace(BASE, **setting)
    before, job = asyncio.run(defined(url, BASE))
    after = asyncio.run(read(url, changed))
    assert before.job == job
    assert after.policy == preset_of(changed)
    assert after.policy == replace(before.policy, **axes)


@pytest.mark.parametrize("setting", [each[0] for each in CHANGES], ids=[next(iter(each[0])) for each in CHANGES])
def test_same_definition_under_another_setting_is_no_revision(url, setting):
    asyncio.run(defined(url, BASE))
    case, _ = asyncio.run(defined(url, replace(BASE, **setting)))
    assert case.revision == 1


def test_what_the_author_gave_stays_under_another_setting(url):
    given = {"overlap_policy": "skip", "catchup_policy": "none", "jitter_ms": 0, "deadline_ms": 5_000}
    asyncio.run(defined(url, BASE, **given))
    changes = {"default_overlap_policy": "queue", "default_catchup_policy": "spread", "default_jitter_ms": 9}
    case = asyncio.run(read(url, replace(BASE, **changes)))
    kept = case.policy
    assert (kept.overlap, kept.catchup, kept.jitter, kept.deadline) == (
        Overlap.SKIP,
        Catchup.NONE,
        0,
        5_000 * MILLISECOND,
    )
    again, _ = asyncio.run(defined(url, replace(BASE, **changes), **given))
    assert again.revision == 1


def test_stated_default_is_a_revision_of_its_own(url):
    asyncio.run(defined(url, BASE))
    case, _ = asyncio.run(defined(url, BASE, overlap_policy="skip"))
    assert case.revision == 2, "the author has now said it"


def test_row_holds_no_setting(tmp_path):
    import sqlite3
    from contextlib import closing

    asyncio.run(defined(f"sqlite:{tmp_path}/kron.db", BASE, jitter_ms=3))
    with closing(sqlite3.connect(tmp_path / "kron.db")) as connection:
        ((policy,),) = connection.execute("SELECT policy FROM schedules")
    assert json.loads(policy) == {"preset": "service", "jitter": 3 * MILLISECOND}


def test_default_settings_are_the_preset_of_the_documents():
    assert replace(preset_of(Config()), preset="") == SERVICE


def test_two_services_with_other_settings_share_definitions(tmp_path):
    store = f"sqlite:{tmp_path}/kron.db"
    with serving(store=store) as one, serving(store=store, lookahead_ms=30_000, default_jitter_ms=10) as other:
        assert one.put("/v1/schedules/a", BODY).json["revision"] == 1
        assert other.put("/v1/schedules/a", BODY).json["revision"] == 1
        assert other.get("/v1/schedules/a").json["jitter_ms"] == 10
        assert one.get("/v1/schedules/a").json["jitter_ms"] == 0
        patched = other.call("PATCH", "/v1/schedules/a", {"description": "d"}).json
        assert (patched["revision"], patched["jitter_ms"]) == (2, 10)
        assert one.get("/v1/schedules/a").json["jitter_ms"] == 0, "a patch states only what it names"


def test_changed_setting_takes_effect_on_an_open_run_of_an_older_revision(url):
    async def script():
        await defined(url, BASE)
        async with open_store(url, presets=presets_of(BASE)) as store:
            await Registrar(store).trigger("a", "r")  # open from now on
        await defined(url, BASE, schedule="*/7 * * * *")
        return await read(url, replace(BASE, run_lease_ms=90_000))

    case = asyncio.run(script())
    (run,) = case.open_runs
    assert (run.revision, case.revision) == (1, 2)
    assert case.job_of(run).schedule.policy.run_lease == 90_000 * MILLISECOND
