"""The list of changes: each once, with who, why and what changed."""

import re
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron.apps.dashboard.access import Role, Viewer
from kron.apps.dashboard.timeline import TROUBLE_STATES, Positions, WorkerEvent, timeline_page, worker_events
from kron.apps.dashboard.word_diff import word_diff
from kron.engine.clock import SystemClock
from kron.engine.overview import Activity
from kron.engine.registrar import Registrar
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from tests.dashboard.parsed import more, parsed
from tests.dashboard.seeded import HOST_WORKER, NOW
from tests.dashboard.served import ask, dashboard_of, served
from tests.stores.making import a_job


def lines(main):
    return [line for line in main.all("li") if "data-row" in line.attributes]


def walk(site, address):
    found = []
    while address:
        main = parsed(site.get(address))
        found += lines(main)
        address = more(main)
    return found


def test_every_change_is_listed_once_latest_first(site, seeded):
    expected = [(each.identity, each.at) for each in ask(seeded.overview.activity("", 1_000))]
    found = walk(site, "/activity?kind=people")
    assert [line.one("a").text for line in found] == [name for name, _ in expected]
    assert len(found) > 25


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=changed", ["search.suggestions", "billing.invoices"]),
        ("kind=deleted", ["legacy.ping"]),
        ("who=ben.okafor", ["search.suggestions", "mail.newsletter"]),
        ("kind=paused&who=ana.lopez", ["crm.import-legacy"]),
        ("kind=resumed", ["mail.digest", "crm.import-legacy"]),
        ("kind=deleted&who=ben.okafor", []),
    ],
)
def test_filter_selects_by_kind_and_person(site, query, expected):
    assert [line.one("a").text for line in walk(site, f"/activity?{query}")] == expected


def test_page_without_a_selected_change_does_not_claim_that_there_is_none():
    store = MemoryStore(SystemClock())
    registrar = Registrar(store)
    for number in range(101):
        ask(registrar.upsert(a_job(f"a{number}")))
    with served(dashboard_of(store)) as site:
        main = parsed(site.get("/activity?kind=paused"))
        assert main.one("h1").text == "None of the latest 100 changes is “Paused”"
        last = parsed(site.get(more(main)))
        assert (last.one("h1").text, more(last)) == ("No older change is “Paused”", None)


def test_change_shows_its_words_its_author_and_the_note(site):
    line = next(
        line for line in lines(parsed(site.get("/activity?kind=people"))) if "search.suggestions changed" in line.text
    )
    assert "changed to revision 2: “every 10 minutes is enough”" in line.text
    assert (line.one("del").text, line.one("ins").text) == ("*/5", "*/10")
    assert line.all("span")[-1].text == "ben.okafor"


def test_changes_stand_under_their_day(site):
    titles = [title.text for title in parsed(site.get("/activity?kind=people")).all("h2")]
    assert titles == ["Today", "Yesterday", "Tue 20 Oct", "Mon 19 Oct", "Tue 13 Oct", "Thu 8 Oct"]


@pytest.mark.parametrize("query", ["kind=x", "before=x", "runs=x", "until=x", "until=-1", f"before={quote('1-2-3-a')}"])
def test_unknown_filter_or_position_is_refused(site, query):
    assert site.get(f"/activity?{query}").status == 422


def test_everything_is_listed_once_latest_first(site, seeded):
    """Changes, runs in trouble and workers: as many as the store has, in the order of their times."""
    changes = ask(seeded.overview.activity("", 1_000))
    runs = ask(seeded.overview.troubled_runs("", TROUBLE_STATES, 1_000))
    workers = worker_events(ask(seeded.overview.workers()), NOW * 1000)
    found = walk(site, "/activity")
    times = [line.all("time")[0].attributes["datetime"] for line in found]
    assert times == sorted(times, reverse=True)
    keys = [run for line in found for run in run_links(line)]
    assert len(keys) == len(set(keys)) > 10
    counts = [int(match[1]) for line in found if (match := re.search(r" and ([0-9]+) more runs?[ :]", line.text))]
    assert len(keys) + sum(counts) == len(runs)
    assert sum(not run_links(line) for line in found) == len(changes) + len(workers)
    assert sum(line.text.endswith("worker") for line in found) == len(workers) > 3


def run_links(line):
    return [link.attributes["href"] for link in line.all("a", "name") if link.attributes["href"].startswith("/runs/")]


def test_trouble_and_workers_are_lists_of_their_own(site):
    trouble, workers = (walk(site, f"/activity?kind={kind}") for kind in ("trouble", "workers"))
    assert trouble and all(run_links(line) for line in trouble)
    assert any("billing.invoices: not started, could not be launched" in line.text for line in trouble)
    assert any(f"{HOST_WORKER}-336 joined" in line.text for line in workers)


def test_tenant_sees_no_worker():
    async def access(request):
        return Viewer("ana", Role.VIEWER, tenants=("acme",))

    store = MemoryStore(SystemClock())
    ask(store.lease("host-1", frozenset({"https"}), 60_000))
    with served(dashboard_of(store)) as site:
        assert "host-1 joined" in parsed(site.get("/activity")).text
    with served(dashboard_of(store, access=access)) as site:
        for query in ("", "?kind=workers"):
            main = parsed(site.get(f"/t/acme/activity{query}"))
            assert "host-1" not in main.text


TIMES = st.lists(st.integers(1, 6), max_size=12)


@settings(deadline=None)
@given(TIMES, TIMES, TIMES, st.integers(1, 4))
def test_pages_of_a_timeline_have_every_event_once_in_order(changes, runs, workers, size):
    change_list = sorted((a_change(at, number) for number, at in enumerate(changes)), key=at_of, reverse=True)
    run_list = sorted((a_trouble(at, number) for number, at in enumerate(runs)), key=at_of, reverse=True)
    worker_list = sorted((WorkerEvent(at, str(number), False) for number, at in enumerate(workers)), reverse=True)
    seen, start = [], Positions()
    for _ in range(50):
        left = [each for each in change_list if start.change is None or each.position < start.change]
        late = [each for each in run_list if start.run is None or (each.changed, each.key) < start.run]
        page = timeline_page(left[: size + 1], late[: size + 1], worker_list, start, size)
        seen += [each for event in page.events for each in getattr(event, "runs", (event,))]
        if page.following is None:
            break
        start = page.following
    assert sorted(map(repr, seen)) == sorted(map(repr, [*change_list, *run_list, *worker_list]))
    times = [at_of(each)[0] for each in seen]
    assert times == sorted(times, reverse=True)


def a_change(at, number):
    return Activity(at, "a", True, number, ScheduleAction(ActionKind.PAUSED, at))


def a_trouble(at, number):
    return Run(f"{number:064x}", "a", 0, 1, 0, State.FAILED if number % 3 else State.LOST, changed=at)


def at_of(item):
    if isinstance(item, Activity):
        return item.position
    return (item.changed, item.key) if isinstance(item, Run) else (item.at, item.owner)


WORDS = st.lists(st.sampled_from(["*/5", "*", "9", "@win(after,1h)", "@tz(UTC)"]), max_size=12).map(" ".join)


@given(WORDS, WORDS)
def test_pieces_give_both_texts_back(before, after):
    pieces = word_diff(before, after)
    assert " ".join(piece.text for piece in pieces if piece.kind != "ins") == before
    assert " ".join(piece.text for piece in pieces if piece.kind != "del") == after
    if before == after:
        assert {piece.kind for piece in pieces} <= {"same"}
