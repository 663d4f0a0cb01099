"""The overview says what is wrong, and its numbers are those of the store."""

import asyncio
import re
import time
from statistics import median

import pytest

from kron.apps.dashboard.access import Role, Viewer
from kron.apps.dashboard.attention import still_troubled
from kron.apps.dashboard.day_counts import first_bar
from kron.apps.dashboard.fleet_panel import fleet_panel
from kron.apps.dashboard.pages.overview import USUAL_RUNS, _running_lines
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.fleet import kind_of, shard_of
from kron.engine.load_pass import LoadPass
from kron.engine.overview import RecentPeriods
from kron.engine.registrar import Registrar
from kron.language import parse
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.upcoming import upcoming
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from kron.timing.zone import instant_of
from tests.dashboard.counted import CountedStore
from tests.dashboard.parsed import parsed
from tests.dashboard.seeded import HOST_WORKER, NOW
from tests.dashboard.served import ask, dashboard_of, served

FIRST = first_bar(NOW * 1000)


@pytest.fixture
def main(site):
    return parsed(site.get("/"))


def numbers(main):
    links = main.one("section", "stats").all("a")
    return {link.one("span", "k").text: (link.one("span", "v").text, link.one("span", "s").text) for link in links}


def ended(store, *states, first=FIRST):
    """Count the periods of the last 24 hours the slow way: run by run, and by the lines of gap records."""
    runs = [run for runs in store.ledger.values() for run in runs.values() if not run.open and run.state in states]
    gaps = [gap for gaps in store.dropped.values() for gap in gaps if gap.outcome in states]
    assert not [gap for gap in gaps if gap.last >= FIRST], "count the periods of gap records one by one"
    return sum(first <= run.due // 60_000 * 60 < FIRST + 86_400 for run in runs)


def test_sentence_counts_the_schedules_in_trouble(main):
    assert main.one("h1").text == "4 schedules need attention. Everything else is on time."


def test_six_numbers_are_those_of_the_store(main, seeded):
    shown = numbers(main)
    assert shown["Late now"] == ("1", "by 2 min 17 s, orders.sync")
    assert int(shown["Failed, 24 h"][0]) == ended(seeded, State.FAILED, State.LOST, State.UNKNOWN) > 0
    assert int(shown["Missed, 24 h"][0]) == ended(seeded, State.MISSED) > 0
    skipped = ended(seeded, State.SKIPPED, State.CANCELLED, State.UNSCHEDULABLE)
    assert int(shown["Skipped, 24 h"][0]) == skipped > 0
    assert shown["Running now"] == ("4", "oldest for 3 min 47 s")
    assert shown["Next minute"] == ("1", "next in 43 s")


def test_bars_of_the_chart_have_the_numbers_in_words(main, seeded):
    (chart,) = main.all("svg", "h140")
    failed = ended(seeded, State.FAILED, State.LOST, State.UNKNOWN, first=FIRST + 43_200)
    executed = ended(seeded, State.SUCCESS, first=FIRST + 43_200)
    assert f"{executed} executed, {failed} failed" in chart.attributes["aria-label"]


def test_late_schedule_has_a_cause(main):
    late = main.all("li")[0].text
    assert late.startswith("orders.sync")
    assert f"Its worker {HOST_WORKER}-336 has not renewed its lease for 2 min 47 s." in late


def test_dead_letters_and_pauses_need_attention(main):
    lines = [line.text for line in main.all("ul")[0].all("li")]
    assert [line.one("a", "name").text for line in main.all("ul")[0].all("li")] == [
        "orders.sync",
        "billing.invoices",
        "billing.statements",
        "billing.reminders",
        "mail.newsletter",
    ]
    assert "Not started: could not be launched, 4 attempts, 03:17:18. It is a dead letter." in lines[1]
    assert "Paused by ben.okafor until Tue 27 Oct, 09:00. “template is broken”" in lines[-1]
    links = [link.attributes["href"] for link in main.all("ul")[0].all("a", "btn")]
    assert links[2] == f"{links[1]}/again"
    assert links[-1] == "/schedules/mail.newsletter/resume"


def test_next_runs_are_the_first_of_all_schedules(main, seeded):
    states = ask(seeded.get(ask(seeded.identities("", 100))))
    dues = sorted((due.at, state.identity) for state in states for due in upcoming(state, NOW * 1000, 10))[:10]
    rows = main.all("section")[-2].all("li")
    assert [row.one("a").text for row in rows] == [name for _, name in dues]
    times = [row.all("time")[0].attributes["datetime"] for row in rows]
    assert times == sorted(times)
    assert min(at for at, _ in dues) > NOW * 1000


def test_active_run_is_compared_with_its_usual_duration(main, seeded):
    newest = sorted(seeded.ledger["ml.features"].values(), key=lambda run: run.nominal)[-USUAL_RUNS:]
    usual = median(run.finished - run.started for run in newest if run.state is State.SUCCESS)
    row = next(row for row in main.all("tr") if "ml.features" in row.text)
    assert "2 min 17 s" in row.text
    minutes, seconds = re.search(r"usually (\d+) min (\d+) s", row.text).groups()
    assert int(minutes) * 60 + int(seconds) == int(usual / 1000)


def test_usual_duration_is_that_of_runs_that_succeeded():
    """A run that failed at once, or at its time limit, says nothing about how long the work takes."""

    def executed(state, seconds):
        return a_run(state, 100)._replace(outcome=Outcome.EXECUTED, sent=100_000, changed=100_000 + seconds * 1000)

    active = executed(State.STARTED, 0)
    past = (executed(State.FAILED, 1), executed(State.FAILED, 2), executed(State.SUCCESS, 60))
    (line,) = _running_lines([active], {"a": RecentPeriods((active, *past), ())}, 130_000)
    assert (line.elapsed, line.usual) == (30_000, 60_000)
    assert _running_lines([active], {}, 130_000)[0].usual is None


def test_every_shard_belongs_to_one_of_its_workers(seeded):
    records = ask(seeded.overview.workers())
    panel = fleet_panel(records, NOW * 1000)
    assert panel.kind == "https"
    assert (len(panel.shards), panel.free) == (64, 0)
    for shard in panel.shards:
        assert shard.owner.startswith("kron-")
        assert shard.owner != HOST_WORKER
    assert sum(worker.shards for worker in panel.workers if not worker.owner.startswith(HOST_WORKER)) == 64
    (state,) = ask(seeded.get(["orders.sync"]))
    assert (kind_of(state.job.target), shard_of("orders.sync") in range(64)) == ("command", True)


def test_wait_without_a_worker_of_its_kind_says_so(seeded):
    records = [record for record in ask(seeded.overview.workers()) if "command" not in record.kinds]
    (state,) = ask(seeded.get(["orders.sync"]))
    assert fleet_panel(records, NOW * 1000).cause_of_wait(state) == "No running worker can launch command targets."
    assert fleet_panel([], NOW * 1000).cause_of_wait(state) == "No worker is running."


def a_store(*names):
    store = MemoryStore(ManualClock(NOW))
    for name in names:
        job = Job(name, parse("*/5 * * * *", dialect="kron"), target="https://x.example/")
        asyncio.run(Registrar(store).upsert(job))
    return store


def test_overview_without_a_worker_says_so():
    with served(dashboard_of(a_store("a"))) as site:
        assert parsed(site.get("/")).one("h1").text == "No worker is running."


def with_targets(*targets):
    store = MemoryStore(ManualClock(NOW))
    for number, target in enumerate(targets):
        job = Job(f"s{number}", parse("*/5 * * * *", dialect="kron"), target=target)
        asyncio.run(Registrar(store).upsert(job))
    return store


FUNCTIONS = "Functions run in the application that declares them: start the application. kron worker cannot run them."
WEBHOOKS = "Webhooks need a worker with KRON_WEBHOOK_SECRET: kron worker --store=sqlite:jobs.db."


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        (["python:report", "python:mail"], f"No worker is registered. {FUNCTIONS}"),
        (["https://x.example/", "http://x.example/"], f"No worker is registered. {WEBHOOKS}"),
        (["python:report", "https://x.example/"], f"No worker is registered. {WEBHOOKS} {FUNCTIONS}"),
        (
            ["kubernetes:a/b"],
            "No worker is registered. Kubernetes Jobs need a worker with access to the cluster: "
            "kron worker --kubernetes --store=sqlite:jobs.db.",
        ),
    ],
)
def test_without_a_worker_the_page_says_what_must_run_for_the_targets(targets, text):
    with served(dashboard_of(with_targets(*targets), store_name="sqlite:jobs.db")) as site:
        assert text in parsed(site.get("/")).text


def test_function_waits_for_its_application(seeded):
    (state,) = asyncio.run(with_targets("python:report").get(["s0"]))
    for records in ([], ask(seeded.overview.workers())):
        cause = fleet_panel(records, NOW * 1000).cause_of_wait(state)
        assert cause == "The application that declares its function is not running."


@pytest.mark.parametrize(("count", "text"), [(5, ""), (6, "5 of 6"), (100, "5 of 100"), (101, "5 of more than 100")])
def test_paused_schedules_have_a_bounded_total(count, text):
    store = a_store(*(f"s{number:03d}" for number in range(count)))
    for number in range(count):
        asyncio.run(Registrar(store).pause(f"s{number:03d}"))
    with served(dashboard_of(store)) as site:
        links = {link.text: link.attributes["href"] for link in parsed(site.get("/")).all("a")}
    shown = {name: address for name, address in links.items() if name.endswith("paused schedules")}
    assert shown == ({f"{text} paused schedules": "/schedules?state=paused"} if text else {})


def test_pause_without_an_actor_names_none():
    store = a_store("a")
    asyncio.run(Registrar(store).pause("a"))
    with served(dashboard_of(store)) as site:
        assert "Paused until it is resumed." in parsed(site.get("/")).text


def test_slow_panel_shows_a_dash_and_the_page_comes():
    store = a_store("a")

    async def day(*given):
        await asyncio.sleep(30)

    store.overview.day = day
    with served(dashboard_of(store)) as site:
        began = time.monotonic()
        shown = numbers(parsed(site.get("/")))
        assert shown["Failed, 24 h"][0] == "—"
        assert shown["Next minute"] == ("0", "next in 2 min 43 s")
        assert time.monotonic() - began < 3


def test_schedule_that_is_over_is_not_an_empty_store():
    store = a_store("a")
    asyncio.run(Registrar(store).pause("a"))
    store.overview.pauses, store.overview.next_checks = no_pauses, nothing
    with served(dashboard_of(store)) as site:
        assert parsed(site.get("/")).one("h1").text == "No worker is running."


async def nothing(*given):
    return []


async def no_pauses(*given):
    return {}


def a_run(state, nominal, name="a"):
    return Run(f"{nominal:064x}", name, nominal, 1, nominal * 1000, state, changed=nominal * 1000)


@pytest.mark.parametrize(
    ("later", "is_listed"),
    [
        ([], True),
        ([State.SUCCESS], False),
        ([State.SKIPPED], True),
        ([State.STARTED], True),
        ([State.STARTED, State.SUCCESS], False),
    ],
)
def test_failed_run_needs_attention_until_a_newer_one_succeeds(later, is_listed):
    (state,) = asyncio.run(a_store("a").get(["a"]))
    failed = a_run(State.FAILED, 100)
    newest = [a_run(each, 200 - number) for number, each in enumerate(later)]
    recent = {"a": RecentPeriods((*newest, failed), ())}
    assert still_troubled([failed], {"a": state}, recent) == ([failed] if is_listed else [])
    assert still_troubled([failed], {"a": state._replace(deleted=True)}, recent) == []


@pytest.mark.parametrize("path", ["", "schedules", "runs", "runs?dead=1", "activity"])
def test_tenant_sees_only_its_own_schedules(path):
    async def access(request):
        return Viewer("ana", Role.OPERATOR, tenants=("acme",))

    with served(dashboard_of(a_store("acme/mine", "other/theirs"), access=access)) as site:
        main = parsed(site.get(f"/t/acme/{path}"))
        assert "theirs" not in main.text
        assert "acme/mine" not in main.text
        assert ("mine" in main.text) == (not path.startswith("runs"))


def test_overview_asks_the_store_at_most_8_questions(seeded):
    class Counted:
        def __init__(self, inner, asked):
            self.inner, self.asked = inner, asked

        def __getattr__(self, name):
            value = getattr(self.inner, name)
            if name == "overview":
                return Counted(value, self.asked)
            if callable(value) and name != "now":
                self.asked.append(name)
            return value

    asked = []
    with served(dashboard_of(Counted(seeded, asked))) as site:
        for path in (
            "/",
            "/schedules",
            "/schedules?q=bilin",
            "/runs",
            "/runs?dead=1",
            "/activity",
            "/schedules?state=late",
        ):
            asked.clear()
            assert site.get(path).status == 200
            assert len(asked) <= 8, (path, asked)


@pytest.mark.parametrize(("days", "is_named"), [(8, False), (7, True)])
def test_clock_change_of_the_coming_week_is_named(days, is_named):
    store = MemoryStore(ManualClock(float(instant_of("2026-10-25T01:00:00Z") - days * 86_400)))
    for name, hour in {"paris": 2, "rome": 4}.items():
        text = f"30 {hour} * * * @tz(Europe/{name.capitalize()})"
        asyncio.run(Registrar(store).upsert(Job(name, parse(text, dialect="kron"), target="https://x.example/")))
    asyncio.run(LoadPass(store, SystemTimer(), "w").once())
    counted = CountedStore(store)
    with served(dashboard_of(counted)) as site:
        counted.calls.clear()
        main = parsed(site.get("/"))
    assert len([call for call in counted.calls if call != "now"]) <= 8, counted.calls
    lines = [line.text for line in main.all("li") if "Clocks go" in line.text]
    assert len(lines) == is_named
    if is_named:
        assert lines[0].startswith("Clocks go back in Europe/Paris, Europe/RomeSun 25 Oct, 01:00, in 7 d 0 h.")
        assert "2 schedules run at fixed local hours. 1 of them can run in an hour that is repeated." in lines[0]
