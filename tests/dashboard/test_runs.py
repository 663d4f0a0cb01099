"""The list of runs: everything that did not succeed, once, with its cause; dead letters in groups."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard import chip_counts, run_search
from kron.apps.dashboard.access import Role
from kron.apps.dashboard.dead_letter_group import MAX_DISTANCE_MS, dead_letter_groups, host_of_target
from kron.apps.dashboard.time_text import span_text
from kron.engine.clock import ManualClock
from kron.engine.overview import TROUBLE
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from tests.dashboard.parsed import more, parsed
from tests.dashboard.seeded import NOW
from tests.dashboard.served import ask, dashboard_of, served


def keys(main):
    return [row.all("a", "name")[0].attributes["href"].removeprefix("/runs/") for row in rows(main)]


def rows(main):
    return [row for row in main.all("tr") if row.all("a", "name")]


def walk(site, address):
    found = []
    while address:
        main = parsed(site.get(address))
        found += keys(main)
        address = more(main)
    return found


def ended(store, states):
    runs = [run for runs in store.ledger.values() for run in runs.values() if run.state in states]
    return [run.key for run in sorted(runs, key=lambda run: (run.changed, run.key), reverse=True)]


def test_every_run_that_did_not_succeed_is_listed_once(site, seeded):
    assert walk(site, "/runs") == ended(seeded, TROUBLE)


@pytest.mark.parametrize("state", sorted(TROUBLE))
def test_filter_shows_the_runs_of_one_outcome(site, seeded, state):
    assert walk(site, f"/runs?outcome={state}") == ended(seeded, {State(state)})


def test_active_runs_are_listed_oldest_first(site, seeded):
    main = parsed(site.get("/runs?outcome=running"))
    assert keys(main) == [run.key for run in ask(seeded.overview.running("", 100))]
    assert main.one("h1").text == "4 runs are active"
    assert "Running for 3 min 47 s" in rows(main)[0].text


def newest(store, is_shown=lambda run: True):
    runs = [run for runs in store.ledger.values() for run in runs.values() if is_shown(run)]
    return [run.key for run in sorted(runs, key=lambda run: (run.nominal, run.key), reverse=True)]


def first_pages(site, address, count):
    found = []
    while address and len(found) < count:
        main = parsed(site.get(address))
        found += keys(main)
        address = more(main)
    return found[:count]


def test_name_shows_all_runs_of_the_schedules_that_begin_with_it(site, seeded):
    of_crm = newest(seeded, lambda run: run.identity.startswith("crm."))
    found = first_pages(site, "/runs?q=crm.", 80)
    assert found == of_crm[: len(found)]
    assert len(found) > 50
    of_tax = newest(seeded, lambda run: run.identity == "tax.report-es")
    assert walk(site, "/runs?q=tax.report-es") == of_tax != []
    assert walk(site, "/runs?q=no.such") == []


@pytest.mark.parametrize("state", [State.SUCCESS, State.SKIPPED, State.FAILED])
def test_name_and_outcome_show_what_ended_so_in_pages_that_read_100_runs(site, seeded, state):
    expected = newest(seeded, lambda run: run.identity.startswith("c") and run.state is state)
    found = first_pages(site, f"/runs?q=c&outcome={state}", 60)
    assert found == expected[:60] != []


def test_runs_that_succeeded_are_listed_with_their_durations(site, seeded):
    main = parsed(site.get("/runs?outcome=success"))
    assert keys(main) == newest(seeded, lambda run: run.state is State.SUCCESS)[:25]
    assert main.one("h1").text == "Runs that succeeded"
    run = ask(seeded.runs_by_key([keys(main)[0]]))[0]
    assert f"sla.probe{span_text(run.finished - run.started)}" in rows(main)[0].text
    assert "of 100 runs that were read" in main.text


def test_runs_that_succeeded_need_a_name_if_there_are_many_schedules(site, monkeypatch):
    monkeypatch.setattr(run_search, "MAX_SCHEDULES", 2)
    main = parsed(site.get("/runs?outcome=success"))
    assert (main.one("h1").text, keys(main)) == ("Runs that succeeded are listed by schedule", [])
    main = parsed(site.get("/runs?outcome=success&q=billing."))
    assert "of the first 50 schedules" in main.text
    assert {row.all("a", "name")[0].text for row in rows(main)} <= {"billing.close-month", "billing.dunning"}


def test_dead_letters_of_one_host_are_one_group(site, seeded):
    main = parsed(site.get("/runs?dead=1"))
    assert main.one("h1").text == "3 dead letters, all of billing.acme.example"
    assert main.one("tr", "dayhd").text == "3 runs of billing.acme.example, 03:05:00 to 03:17:04"
    assert keys(main) == [run.key for run in ask(seeded.dead_letters("", 50))]
    first = rows(main)[0].text
    assert "could not be launched, 4 attempts, last answer 503 · upstream connect error: no healthy upstream" in first


@pytest.mark.parametrize(("most", "text"), [(3, "Dead letters 3"), (2, "Dead letters 2+")])
@pytest.mark.parametrize("path", ["/runs", "/runs?q=crm.", "/runs?dead=1&q=no.such"])
def test_tab_of_dead_letters_has_their_bounded_number(site, monkeypatch, path, most, text):
    monkeypatch.setattr(chip_counts, "MOST", most)
    assert parsed(site.get(path)).one("nav", "tabs").all("a")[2].text == text


def test_tab_without_dead_letters_has_no_number():
    with served(dashboard_of(MemoryStore(ManualClock(NOW)))) as site:
        assert parsed(site.get("/runs")).one("nav", "tabs").all("a")[2].text == "Dead letters"


def test_viewer_sees_the_command_in_place_of_the_button(seeded):
    with served(dashboard_of(seeded, Role.VIEWER, store_name="sqlite:jobs.db")) as site:
        main = parsed(site.get("/runs?dead=1"))
    (button, *_) = [each for each in main.all("span", "btn") if each.text == "Run again"]
    assert button.attributes["aria-disabled"] == "true"
    assert button.attributes["title"].startswith("kron ui --operator --store=sqlite:jobs.db")
    assert "Read only." in main.text


@pytest.mark.parametrize(
    "query", ["outcome=x", "since=1h", "before=x", "before=1-zz", "dead=1&before=zz", "outcome=pending"]
)
def test_unknown_filter_or_position_is_refused(site, query):
    assert site.get(f"/runs?{query}").status == 422


LETTERS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5 * MAX_DISTANCE_MS)), max_size=30)


@given(LETTERS)
def test_groups_keep_the_order_and_part_hosts_and_times(letters):
    hosts = {f"{number:064x}": host for number, (host, _) in enumerate(letters)}
    runs = [Run(key, "x", 0, 1, due, State.FAILED) for key, (_, due) in zip(hosts, letters, strict=True)]
    groups = dead_letter_groups(runs, lambda run: hosts[run.key])
    assert [run for group in groups for run in group.runs] == runs
    for group in groups:
        assert {hosts[run.key] for run in group.runs} == {group.host}
        assert all(abs(a.due - b.due) <= MAX_DISTANCE_MS for a, b in pairwise(group.runs))
        assert (group.first, group.last) == (min(r.due for r in group.runs), max(r.due for r in group.runs))
    bounds = [(a.runs[-1], b.runs[0]) for a, b in pairwise(groups)]
    assert all(hosts[a.key] != hosts[b.key] or abs(a.due - b.due) > MAX_DISTANCE_MS for a, b in bounds)


def test_host_of_a_target_without_a_host_is_the_target():
    assert host_of_target("https://billing.acme.example:8443/x") == "billing.acme.example"
    assert host_of_target("command:orders-sync") == "command:orders-sync"
    assert host_of_target("https://[bad") == "https://[bad"


@pytest.mark.parametrize(("since", "days"), [("24h", 1), ("7d", 7)])
def test_time_shows_the_runs_that_ended_in_it(site, seeded, since, days):
    begin = NOW * 1000 - days * 86_400_000
    expected = {run.key for run in ask(seeded.overview.troubled_runs("", TROUBLE, 10_000)) if run.changed >= begin}
    found = walk(site, f"/runs?since={since}")
    assert len(found) == len(set(found)) > 25
    assert set(found) == expected
    assert set(walk(site, "/runs")) > expected


def test_numbers_of_the_overview_lead_to_the_runs_of_their_time(site):
    links = [link.attributes["href"] for link in parsed(site.get("/")).one("section", "stats").all("a")]
    assert {f"/runs?outcome={name}&since=24h" for name in ("failed", "missed", "skipped")} <= set(links)


def test_time_without_a_run_says_so(site):
    main = parsed(site.get("/runs?outcome=cancelled&since=24h"))
    assert main.one("h1").text == "No such run in the last 24 h"
