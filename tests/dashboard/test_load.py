"""The load page: the busiest minute of each hour in the zone of the viewer, against what the engine will start."""

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.load_week import week_of, worst_minutes
from kron.apps.dashboard.spreading import spreading_of
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.load_pass import LoadPass
from kron.engine.registrar import Registrar
from kron.language import parse
from kron.rules.load import LoadInterval, LoadKind
from kron.stores.memory import MemoryStore
from kron.timing.decision import decide
from kron.timing.period import Period, nominals
from kron.timing.zone import instant_of, zone
from tests.dashboard.served import dashboard_of, served
from tests.stores.making import a_job

NOW = instant_of("2026-10-22T08:42:17Z")
DAY = 86_400


@given(
    st.dictionaries(st.integers(0, 8 * 96), st.integers(1, 500), max_size=30),
    st.sampled_from(["UTC", "Europe/Paris", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"]),
)
def test_cell_has_the_busiest_quarter_of_its_local_hour(busiest, name):
    begin, where = NOW // 900 * 900, zone(name)
    intervals = [LoadInterval(begin + n * 900, count, count, begin + n * 900) for n, count in busiest.items()]
    today = where.wall(NOW).day
    week = week_of(intervals, where, range(today, today + 7), NOW)
    for day, line in enumerate(week, today):
        for hour, cell in enumerate(line):
            walls = [(each, where.wall(each.start)) for each in intervals]
            inside = [each.busiest for each, wall in walls if (wall.day, wall.hour) == (day, hour)]
            assert (cell.busiest, cell.hour) == (max(inside, default=None), hour)
            assert 0 <= cell.shade <= 6 and (cell.shade > 0) == bool(inside)
    worst = [cell.busiest for cell in worst_minutes(week, 6)]
    assert worst == sorted(worst, reverse=True)


def test_hour_that_has_passed_has_no_load():
    intervals = [LoadInterval(NOW // 3600 * 3600 - 900, 5, 5, NOW), LoadInterval(NOW // 3600 * 3600, 7, 7, NOW)]
    today = NOW // DAY
    (line,) = week_of(intervals, zone("UTC"), [today], NOW)
    assert [cell.busiest for cell in line[7:9]] == [None, 7]


@pytest.fixture(scope="module")
def site():
    async def filled():
        store = MemoryStore(ManualClock(NOW))
        for number in range(5):
            await Registrar(store).upsert(a_job(f"midnight-{number}", "0 0 * * *"))
        await Registrar(store).upsert(a_job("hourly", "30 * * * *"))
        await store.lease("w", frozenset({"test"}), 30_000)
        assert await LoadPass(store, SystemTimer(), "w").once() >= 0
        return store

    with served(dashboard_of(asyncio.run(filled()))) as site:
        yield site


def plain(text):
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def test_page_names_the_worst_minute_and_its_texts(site):
    page = site.get("/load").text
    assert "At most 5 runs start in one minute." in plain(page)
    assert re.search(r'aria-label="Fri 23 Oct 00:00, at most 5 a minute" aria-current="true">5<', page)
    assert re.search(r'aria-label="Today 09:00, at most 1 a minute">1<', page)
    assert "0 0 * * * 5 5" in plain(page)


def test_hour_can_be_chosen_and_a_wrong_one_is_ignored(site):
    chosen = plain(site.get(f"/load?hour={instant_of('2026-10-22T12:00:00Z')}").text)
    assert "12:00 to 13:00" in chosen and "30 * * * * 1 1" in chosen
    for wrong in ("x", "0", "9" * 30, "-1"):
        assert site.get(f"/load?hour={wrong}").status == 200


def test_store_without_a_count_says_so():
    with served(dashboard_of(MemoryStore(ManualClock(NOW)))) as site:
        assert "No worker has counted the coming runs yet." in site.get("/load").text


def test_windows_spread_the_texts_that_start_together(site):
    page = plain(site.get("/load").text)
    assert re.search(r"5 in the busiest minute of this hour now, [12] with windows\.", page)
    assert "0 0 * * * 0 0 * * * @win(around,2h) 5" in page
    hour = plain(site.get(f"/load?hour={instant_of('2026-10-22T12:00:00Z')}").text)
    assert "A window would move nothing here" in hour


def placed(schedule, names, hour):
    """Count the runs of each minute the slow way: period by period, by the decision of each."""
    counts = [0] * 60
    for name in names:
        for nominal in nominals(schedule, hour - 10_800, hour + 10_800):
            chosen = decide(schedule, Period(nominal), name).chosen
            if chosen is not None and hour <= chosen < hour + 3_600:
                counts[(chosen - hour) // 60] += 1
    return counts


@pytest.mark.parametrize(
    ("text", "count", "window"), [("0 0 * * *", 40, "@win(around,2h)"), ("0 * * * *", 30, "@win(after,49m)")]
)
def test_spread_minutes_are_those_of_the_decisions(text, count, window):
    hour = NOW // DAY * DAY
    runs, others = [count + 2, *[0] * 59], LoadKind("*/5 * * * *", 2, 24)
    spreading = spreading_of(runs, [LoadKind(text, count, count), others], hour)
    (kind,) = spreading.kinds
    assert (kind.text, kind.schedules, window in kind.spread_text) == (text, count, True)
    own = placed(parse(kind.spread_text, dialect="kron"), [f"example-{number}" for number in range(count)], hour)
    assert spreading.runs == [runs[0] - count + own[0], *own[1:]]
    assert (kind.busiest, max(spreading.runs) < count) == (max(own), True)


@pytest.mark.parametrize(
    "kind",
    [
        LoadKind("0 0 * * * @win(after,1h)", 9, 9),
        LoadKind("*/5 * * * *", 9, 108),
        LoadKind("0 0 * * *", 1, 1),
        LoadKind("0 0 * * *", 501, 501),
        LoadKind("0 0 * * *", 4, 9),
        LoadKind("not a schedule", 9, 9),
    ],
    ids=["has a window", "often", "one", "too many", "jitter", "no text"],
)
def test_text_that_no_window_helps_or_that_is_not_known_stays(kind):
    runs = [kind.busiest, *[0] * 59]
    assert spreading_of(runs, [kind], NOW // DAY * DAY) == (runs, [])
