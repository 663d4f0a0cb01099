"""The coming half of the strip: runs that are due in the next 12 hours, as a worker counted them."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.day_counts import (
    BAR_SECONDS,
    DAY_BARS,
    coming_runs,
    day_counts,
    first_bar,
    strip_bars,
    strip_first,
    strip_ranges,
)
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.load_pass import LoadPass
from kron.engine.registrar import Registrar
from kron.rules.load import LoadInterval
from kron.rules.upcoming import search_upcoming
from kron.stores.memory import MemoryStore
from kron.timing.zone import instant_of
from tests.dashboard.parsed import parsed
from tests.dashboard.served import dashboard_of, served
from tests.stores.making import a_job

NOW = instant_of("2026-10-22T08:42:17Z")
TEXTS = ("*/5 * * * *", "17 * * * *", "0 9 * * *", "30 20 * * *", "0 9 1 1 *", "0 12 * * * @win(after,1h)")


def counted_store():
    """A store with some schedules whose coming runs a worker has counted."""
    store = MemoryStore(ManualClock(NOW))

    async def fill():
        for number, text in enumerate(TEXTS):
            await Registrar(store).upsert(a_job(f"s{number}", text))
        await LoadPass(store, SystemTimer(), "w").once()
        return [state for state in await store.get([f"s{n}" for n in range(len(TEXTS))]) if state]

    return store, asyncio.run(fill())


@given(
    st.dictionaries(st.integers(-30, 800), st.integers(1, 500), max_size=60),
    st.integers(0, 86_400),
    st.sampled_from([60, 600, 3_600]),
)
def test_interval_has_the_runs_of_its_minutes(minutes, base, step):
    base = base // 60 * 60
    intervals = [LoadInterval(base + 60 * n, runs, runs, base + 60 * n) for n, runs in minutes.items()]
    first = base // step * step
    for number, runs in enumerate(coming_runs(intervals, first, 73, step)):
        begin = first + number * step
        assert runs == sum(each.runs for each in intervals if begin <= each.start < begin + step)


@given(st.integers(10**12, 2 * 10**12))
def test_ranges_of_the_strip_meet_at_now(now):
    past, coming = strip_ranges(now)
    assert past.last - past.first == 86_400
    assert coming.first <= now // 1000 < coming.first + 60, "minutes that have passed are not due again"
    assert past.last - BAR_SECONDS <= now // 1000 < past.last
    assert coming.last - past.last == 43_200


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(10**12, 2 * 10**12))
def test_strip_has_now_in_its_middle_and_coming_runs_after_it(coming, now):
    counts = day_counts([], first_bar(now))
    bars, first = strip_bars(counts, coming), strip_first(counts)
    assert len(bars) == DAY_BARS
    present = (now // 1000 - first) // BAR_SECONDS
    assert present == DAY_BARS // 2 - 1
    assert [bar.coming for bar in bars[:present]] == [0] * present
    assert [bar.coming for bar in bars[present:]] == (coming + [0] * DAY_BARS)[: DAY_BARS - present]


def test_coming_half_has_the_runs_that_the_calendar_has():
    store, states = counted_store()
    with served(dashboard_of(store)) as site:
        page = parsed(site.get("/"))
    (chart,) = page.all("svg", "h140")
    end = strip_first(day_counts([], first_bar(NOW * 1000))) + DAY_BARS * BAR_SECONDS
    dues = [due.at for state in states for due in search_upcoming(state, NOW * 1000, 1_000, until=end * 1000 - 1).dues]
    assert len(dues) > 150
    assert f"The next 12 hours: {len(dues)} due" in chart.attributes["aria-label"]
    path = chart.one("path", "m-come").attributes["d"]
    places = [float(part.partition(" ")[0]) for part in path.split("M")[1:]]
    assert len(places) == len({at // 1000 // BAR_SECONDS for at in dues})
    assert min(places) >= 1000 * 71 / 144
    assert "Coming runs counted at 08:42:17" in page.text


def test_strip_without_counted_runs_says_so():
    store = MemoryStore(ManualClock(NOW))
    asyncio.run(Registrar(store).upsert(a_job("s", "* * * * *")))
    with served(dashboard_of(store)) as site:
        assert "No worker has counted the coming runs yet" in site.get("/").text
