"""Workers register the version of their tz database, and state it when versions differ."""

import asyncio

from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.fleet import Member
from kron.engine.log_events import level_of, text_of
from kron.engine.tz_watch import TzWatch
from kron.engine.worker import Worker
from kron.stores.memory import MemoryStore
from kron.timing.tzdata import host_version

KINDS = frozenset({"http"})


def members(*versions):
    return [Member(f"w{number}", 0, KINDS, version) for number, version in enumerate(versions)]


def comparisons(*fleets):
    """Compare one fleet after the other. Returns the events of each comparison."""
    events = []
    watch, counts = TzWatch("w0", events.append), []
    for now, fleet in enumerate(fleets):
        before = len(events)
        watch.compare(members(*fleet), now)
        counts.append(len(events) - before)
    return counts, events


def test_workers_that_agree_are_silent():
    assert comparisons(["2026f"], ["2026f", "2026f"], ["2026f", ""])[0] == [0, 0, 0]


def test_difference_is_stated_once_and_again_when_a_version_joins():
    counts, events = comparisons(
        ["2026f", "2025b"],
        ["2026f", "2025b", "2025b"],
        ["2026f"],
        ["2026f", "2025b"],
        ["2026f", "2025b", "2024a"],
        ["2026f", "2024a"],
    )
    assert counts == [1, 0, 0, 1, 1, 0]
    assert events[0].facts == {"owner": "w0", "tz": host_version(), "workers": {"2025b": 1, "2026f": 1}}


def test_event_is_a_warning_that_names_the_versions():
    _, (event,) = comparisons(["2026f", "2025b", "2025b"])
    assert level_of(event) == 30
    assert text_of(event) == (
        f"workers have different tz databases: 2025b (2), 2026f (1); this worker has {host_version()}"
    )


def test_worker_registers_its_version_and_states_a_difference():
    async def script():
        events, store = [], MemoryStore(ManualClock(1_800_000_000.0))
        await store.lease("other", KINDS, 60_000, "2019a")
        worker = Worker(store, {}, SystemTimer(), owner="w1", sink=events.append)
        await worker.tick()
        fleet = await store.lease("third", KINDS, 60_000)
        assert [(member.owner, member.tz) for member in fleet.members] == [
            ("other", "2019a"),
            ("third", ""),
            ("w1", host_version()),
        ]
        stated = [event for event in events if event.name == "tz_databases_differ"]
        assert [event.facts["workers"] for event in stated] == [{"2019a": 1, host_version(): 1}]
        await worker.leave()

    asyncio.run(script())
