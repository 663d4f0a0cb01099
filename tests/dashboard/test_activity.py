"""The list of changes: each once, with who, why and what changed."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.word_diff import word_diff
from kron.engine.clock import SystemClock
from kron.engine.registrar import Registrar
from kron.stores.memory import MemoryStore
from tests.dashboard.parsed import more, parsed
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
    found = walk(site, "/activity")
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
    line = next(line for line in lines(parsed(site.get("/activity"))) if "search.suggestions changed" in line.text)
    assert "changed to revision 2: “every 10 minutes is enough”" in line.text
    assert (line.one("del").text, line.one("ins").text) == ("*/5", "*/10")
    assert line.all("span")[-1].text == "ben.okafor"


def test_changes_stand_under_their_day(site):
    titles = [title.text for title in parsed(site.get("/activity")).all("h2")]
    assert titles == ["Today", "Yesterday", "Tue 20 Oct", "Mon 19 Oct", "Tue 13 Oct", "Thu 8 Oct"]


@pytest.mark.parametrize("query", ["kind=x", "before=x", f"before={quote('1-2-3-a')}"])
def test_unknown_filter_or_position_is_refused(site, query):
    assert site.get(f"/activity?{query}").status == 422


WORDS = st.lists(st.sampled_from(["*/5", "*", "9", "@win(after,1h)", "@tz(UTC)"]), max_size=12).map(" ".join)


@given(WORDS, WORDS)
def test_pieces_give_both_texts_back(before, after):
    pieces = word_diff(before, after)
    assert " ".join(piece.text for piece in pieces if piece.kind != "ins") == before
    assert " ".join(piece.text for piece in pieces if piece.kind != "del") == after
    if before == after:
        assert {piece.kind for piece in pieces} <= {"same"}
