"""Calendar: the counts of each day are those of the store, whatever the zone of the viewer."""

import asyncio
import html
import re
from collections import Counter
from datetime import UTC, date, datetime
from itertools import accumulate, pairwise
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.clock_changes import clock_lines
from kron.apps.dashboard.month import Month, month_of, outcome_step, outcomes_by_day, read_month
from kron.apps.dashboard.pages.calendar import length_text
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.load_pass import LoadPass
from kron.engine.overview import TROUBLE, OutcomeCount
from kron.engine.registrar import Registrar
from kron.errors import InvalidInput
from kron.rules.calendar_facts import CalendarFacts, ZoneHours
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.timing.calendar import Date
from kron.timing.local_day import day_bounds
from kron.timing.zone import instant_of, zone
from tests.dashboard.counted import CountedStore
from tests.dashboard.seeded import NOW
from tests.dashboard.served import Site, dashboard_of, served
from tests.stores.making import a_job

ZONES = ["Europe/Paris", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "UTC", "Pacific/Apia"]
EPOCH = date(1970, 1, 1)


def cells_of(text):
    """Return for each day of the month its number: all periods, troubled periods, and its words."""
    cells = {}
    for outside, content in re.findall(
        r'<div class="(out)?[^"]*"><div class="d">(.*?)(?=\n<div class="(?:out)?[^"]*"><div class="d">|<footer>)',
        text,
        re.DOTALL,
    ):
        if not outside:
            day = int(re.search(r"<b>(\d+)", content)[1])
            total = re.search(r'class="num">([\d,]+)', content)
            trouble = [int(n.replace(",", "")) for n in re.findall(r'class="inkc tab">([\d,]+)', content)]
            words = html.unescape(re.sub(r"<[^>]*>", " ", content))
            cells[day] = (int(total[1].replace(",", "")) if total else None, trouble, words)
    return cells


def page_in(seeded_site, zone, month="2026-10"):
    return Site(seeded_site.port, {"kron_zone": zone}).get(f"/calendar?month={month}").text


@pytest.mark.parametrize("zone", ZONES)
def test_counts_of_a_day_are_those_of_its_minutes(seeded, seeded_site, zone):
    """Slow oracle: every minute of two months is put into the day that `zoneinfo` says."""
    first, last = (instant_of(f"2026-{month}-01T00:00:00Z") for month in ("09", "12"))
    totals, trouble = Counter(), Counter()
    for count in asyncio.run(seeded.overview.outcomes("", first, last, 60)):
        day = datetime.fromtimestamp(count.start, ZoneInfo(zone)).date()
        totals[day] += count.periods
        trouble[day] += count.periods * (count.state in TROUBLE)
    cells = cells_of(page_in(seeded_site, zone))
    assert sorted(cells) == list(range(1, 32)) and sum(totals.values()) > 3_000
    for day, (total, kinds, _) in cells.items():
        assert (total or 0) == totals[date(2026, 10, day)]
        assert sum(kinds) == trouble[date(2026, 10, day)]


def test_counts_are_those_of_the_runs(seeded, seeded_site):
    """A day whose periods all have runs: every run is looked at."""
    names = asyncio.run(seeded.identities("", 100)) + asyncio.run(seeded.identities("", 100, deleted=True))
    runs = [run for name in names for run in asyncio.run(seeded.runs(name, 2_000)) if not run.open]
    counts = Counter(datetime.fromtimestamp(run.due // 1000, ZoneInfo("Europe/Paris")).date() for run in runs)
    cells = cells_of(page_in(seeded_site, "Europe/Paris"))
    for day in (12, 15, 19):
        assert cells[day][0] == counts[date(2026, 10, day)] > 10


@pytest.mark.parametrize(
    ("zone", "month", "day", "words"),
    [
        ("Europe/Paris", "2026-10", 25, "25 hours long"),
        ("Europe/Paris", "2027-03", 28, "23 hours long"),
        ("Australia/Lord_Howe", "2026-10", 4, "23 h 30 min long"),
        ("Pacific/Apia", "2011-12", 30, "this day was left out"),
    ],
)
def test_day_with_a_clock_change_says_how_long_it_is(seeded_site, zone, month, day, words):
    cells = cells_of(page_in(seeded_site, zone, month))
    assert words in cells[day][2]
    assert sum("long" in cell[2] or "left out" in cell[2] for cell in cells.values()) == 1


def test_today_is_marked_and_coming_days_have_no_count(seeded_site):
    page = page_in(seeded_site, "Europe/Paris")
    assert re.search(r'<div class=" today"><div class="d"><b>22<', page)
    cells = cells_of(page)
    assert [day for day, cell in cells.items() if cell[0] is None] == list(range(23, 32))


def test_first_sentence_answers(seeded_site):
    cells = cells_of(page_in(seeded_site, "Europe/Paris"))
    total, troubled = sum(cell[0] or 0 for cell in cells.values()), [c for c in cells.values() if c[1]]
    assert f"{len(troubled)} days with trouble" in page_in(seeded_site, "Europe/Paris")
    assert f"periods of {total:,} did not succeed" in page_in(seeded_site, "Europe/Paris")
    assert "This month has not begun." in page_in(seeded_site, "UTC", "2027-01")
    assert "No period has ended in this month." in page_in(seeded_site, "UTC", "2026-01")


@pytest.mark.parametrize("month", ["x", "2026-13", "2026-00", "1969-12", "3000-01", "2026-1", "２０２６-10"])
def test_month_that_does_not_exist_is_refused(site, month):
    assert site.get(f"/calendar?month={quote(month)}").status == 422
    with pytest.raises(InvalidInput):
        read_month(month, Date(2026, 1, 1))


@pytest.mark.parametrize(("month", "others"), [("1970-01", 1), ("2999-12", 1), ("2026-10", 2)])
def test_links_lead_to_months_that_exist(site, month, others):
    links = re.findall(r'<a class="btn" href="(/calendar\?[^"]*)"', site.get(f"/calendar?month={month}").text)
    assert len(links) == others and [site.get(link).status for link in links] == [200] * others


@given(st.integers(1970, 2999), st.integers(1, 12), st.integers(-30, 30))
def test_month_has_whole_weeks_around_its_days(year, number, distance):
    month = Month(year, number)
    days = month.days()
    dates = [datetime.fromtimestamp(day * 86_400, UTC).date() for day in days]
    assert dates[0].weekday() == 0 and dates[-1].weekday() == 6 and len(days) in (28, 35, 42)
    own = [each for each in dates if (each.year, each.month) == month]
    assert own[0].day == 1 and [month_of(day) == month for day in days].count(True) == len(own)
    assert dates.index(own[0]) < 7 and len(dates) - dates.index(own[-1]) <= 7
    assert month.moved(distance).moved(-distance) == month


@given(
    st.integers(0, 10**6), st.lists(st.integers(0, 100), min_size=1, max_size=40).filter(any), st.sampled_from([900, 1])
)
def test_step_is_the_longest_that_divides_every_day_or_a_quarter_of_an_hour(start, lengths, unit):
    bounds = [unit * each for each in accumulate([start, *lengths])]
    step, days = outcome_step(bounds), [end - begin for begin, end in pairwise(bounds)]
    if unit == 900:
        assert all(day % step == 0 for day in days)
        assert not any(all(day % longer == 0 for day in days) for longer in range(step + 900, max(days) + 1, 900))
    assert step % 900 == 0
    assert step == 900 or bounds[0] % 900 == 0


@pytest.mark.parametrize(
    ("name", "month", "step"),
    [
        ("Europe/Paris", "2026-11", 86_400),
        ("Europe/Paris", "2026-10", 3_600),
        ("Asia/Kathmandu", "2026-10", 86_400),
        ("Australia/Lord_Howe", "2026-10", 1_800),
    ],
)
def test_step_is_a_day_unless_the_clocks_change(name, month, step):
    assert outcome_step(day_bounds(zone(name), read_month(month, Date(2026, 1, 1)).days())) == step


@given(st.lists(st.integers(0, 100), min_size=2, max_size=9), st.lists(st.tuples(st.integers(-20, 120), st.booleans())))
def test_each_interval_belongs_to_the_day_in_which_it_begins(bounds, starts):
    """Also where a day was left out, so that two bounds are equal. Oracle: every day is asked."""
    bounds.sort()
    counts = [OutcomeCount(start, State.FAILED if bad else State.SUCCESS, None, 1) for start, bad in starts]
    for number, day in enumerate(outcomes_by_day(counts, bounds)):
        own = [bad for start, bad in starts if bounds[number] <= start < bounds[number + 1]]
        assert (day.fine, day.troubled) == (own.count(False), own.count(True))


@pytest.mark.parametrize(("seconds", "text"), [(86_400, ""), (90_000, "25 hours long"), (0, "this day was left out")])
def test_length_of_a_day_in_words(seconds, text):
    assert length_text(seconds) == text


def test_store_that_does_not_answer_leaves_dashes():
    store = CountedStore(MemoryStore(ManualClock(NOW)), slow=("outcomes",))
    with served(dashboard_of(store)) as site:
        page = site.get("/calendar").text
        assert "the store did not answer in time" in page and '<span class="num">—' in page
        assert len(page.encode()) < 60_000 and [call for call in store.calls if call != "now"] == ["outcomes", "read"]


def test_zone_that_the_script_has_encoded_is_understood(seeded_site):
    """The script writes the zone of the browser into the cookie by `encodeURIComponent`."""
    assert 'data-zone="Europe/Paris"' in page_in(seeded_site, "Europe%2FParis")


@pytest.fixture(scope="module")
def counted_site():
    """A store whose worker has looked for rare schedules, two months before the clocks change in Paris."""

    async def filled():
        store = MemoryStore(ManualClock(float(NOW)))
        names = {"month": "30 23 1 * *", "paris": "30 2 * * * @tz(Europe/Paris)", "tokyo": "0 2 * * * @tz(Asia/Tokyo)"}
        names |= {f"many-{n:02}": "0 4 3 * *" for n in range(14)}
        for name, text in names.items():
            await Registrar(store).upsert(a_job(name, text))
        await LoadPass(store, SystemTimer(), "w").once()
        return store

    with served(dashboard_of(asyncio.run(filled()))) as site:
        yield site


@pytest.mark.parametrize(("zone", "day", "clock"), [("UTC", 1, "23:30"), ("Europe/Paris", 2, "00:30")])
def test_rare_runs_stand_on_their_day_in_the_zone_of_the_viewer(counted_site, zone, day, clock):
    cells = cells_of(page_in(counted_site, zone, "2026-11"))
    shown = [number for number, (_, _, words) in cells.items() if "month" in words]
    assert shown == [day]
    assert f"{clock} month" in " ".join(cells[day][2].split())


def test_day_with_many_rare_runs_shows_the_first_and_counts_the_others(counted_site):
    words = cells_of(page_in(counted_site, "UTC", "2026-11"))[3][2]
    assert [name for name in ("many-00", "many-01", "many-02", "many-03") if name in words] == [
        "many-00",
        "many-01",
        "many-02",
    ]
    assert "11 more" in words


def test_next_clock_change_says_how_many_schedules_it_concerns(counted_site, seeded_site):
    page = html.unescape(re.sub(r"<[^>]*>", "", page_in(counted_site, "Europe/Paris")))
    assert "Clocks go back in Europe/Paris, Sun 25 Oct, 02:00" in page
    assert "1 schedule runs at fixed local hours. 1 of them can run in an hour that is repeated." in page
    assert "Asia/Tokyo" not in page
    assert "Clocks go" not in page_in(seeded_site, "Europe/Paris"), "no worker has looked at this store"


def hours_of(zone, count):
    return ZoneHours(zone, count, (0, 0, count, *(0,) * 21))


def test_zones_that_change_together_are_one_line():
    zones = [hours_of(f"Europe/{name}", n) for n, name in enumerate(("Rome", "Paris", "Berlin", "Madrid"), 1)]
    zones += [hours_of("America/New_York", 7), hours_of("No/Zone", 8), hours_of("Asia/Tokyo", 9)]
    lines = clock_lines(CalendarFacts(tuple(zones), (), 0), NOW)
    paris, york = (instant_of(f"2026-{at}:00:00Z") for at in ("10-25T01", "11-01T06"))
    assert lines == [
        (paris, False, ("Europe/Madrid", "Europe/Berlin", "Europe/Paris"), 1, 10, 10),
        (york, False, ("America/New_York",), 0, 7, 0),
    ]


@pytest.mark.parametrize(("query", "names"), [("", {"month", "paris", "tokyo", "many-00"}), ("?q=many-1", {"many-13"})])
def test_calendar_file_has_the_runs_of_the_next_30_days(counted_site, query, names):
    reply = counted_site.get(f"/calendar.ics{query}")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    summaries = re.findall("SUMMARY:(.*)\r\n", reply.text)
    assert names <= set(summaries)
    assert set(summaries) == {"month", "paris", "tokyo", *(f"many-{n:02}" for n in range(14))} or query
    assert not query or {name[:6] for name in summaries} == {"many-1"}
    assert 'href="/calendar.ics"' in counted_site.get("/calendar").text
    assert 'href="/calendar.ics?q=many-1"' in counted_site.get("/schedules?q=many-1").text


def test_past_runs_of_rare_schedules_stand_on_their_day_with_their_outcome():
    clock = ManualClock(float(instant_of("2026-10-01T00:00:00Z")))

    async def filled():
        store = MemoryStore(clock)
        await Registrar(store).upsert(a_job("month", "30 23 1 * *"))
        await Registrar(store).upsert(a_job("day", "0 5 * * *"))
        due = instant_of("2026-10-01T23:30:00Z") * 1000
        run = Run("a" * 64, "month", due // 1000, 1, due, State.FAILED, outcome=Outcome.EXECUTED, changed=due + 5)
        store._put(run)
        clock.advance(21 * 86_400)
        await LoadPass(store, SystemTimer(), "w").once()
        return store

    counted = CountedStore(asyncio.run(filled()))
    with served(dashboard_of(counted)) as site:
        counted.calls.clear()
        cells = cells_of(page_in(site, "Europe/Paris", "2026-10"))
        assert len([call for call in counted.calls if call != "now"]) <= 8
        assert [day for day, (_, _, words) in cells.items() if "month" in words] == [2]
        assert "01:30 month , failed" in " ".join(cells[2][2].split())
        assert "month" in cells_of(page_in(site, "Europe/Paris", "2026-11"))[2][2]
