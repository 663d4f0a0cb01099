"""Search in the list of schedules: names that begin with a text come first, then names that contain it."""

import pytest

from kron.engine import name_search
from tests.dashboard.parsed import more, parsed
from tests.dashboard.served import ask
from tests.dashboard.test_schedules import names

FURTHER = "Search further →"


def containing(store, text):
    return [name for name in ask(store.identities("", 100)) if text in name]


def test_text_that_no_name_begins_with_is_searched_inside_names(site, seeded):
    main = parsed(site.get("/schedules?q=sync"))
    assert names(main) == containing(seeded, "sync") != []
    assert main.one("h1").text == f"{len(names(main))} names contain “sync”"
    assert "Select everything that matches" not in main.text


def test_names_that_begin_with_the_text_come_first_and_lead_to_the_others(site, seeded):
    main = parsed(site.get("/schedules?q=mail"))
    assert names(main) == ask(seeded.identities("", 100, "mail"))
    main = parsed(site.get(more(main, "Search inside names")))
    assert names(main) == containing(seeded, "mail")


def test_pages_of_a_search_inside_names_have_every_name_once(site, seeded):
    found, address = [], "/schedules?q=.&match=inside"
    while address:
        main = parsed(site.get(address))
        found += names(main)
        address = more(main)
    assert found == containing(seeded, ".")
    assert len(found) > 25


def test_search_that_did_not_look_at_all_names_says_so_and_goes_on(site, seeded, monkeypatch):
    monkeypatch.setattr(name_search, "MAX_SCANNED", 7)
    found, address = [], "/schedules?q=suggestions"
    for page in range(20):
        main = parsed(site.get(address))
        if page == 0:
            assert "inside of 2,000 names only" in main.text
            assert main.one("h1").text == "No name that was looked at matches"
        found += names(main)
        address = more(main, FURTHER)
        if not address:
            break
    assert found == containing(seeded, "suggestions") != []


def test_hostile_text_is_shown_as_text(site):
    main = parsed(site.get("/schedules?q=%3Cb%3E%25_&match=inside"))
    assert "<b>%_" in main.text
    assert names(main) == []


@pytest.mark.parametrize("query", ["match=x", "q=a&match=begin"], ids=["without a text", "with a text"])
def test_unknown_match_is_refused(site, query):
    assert site.get(f"/schedules?{query}").status == 422


def test_everything_whose_name_contains_a_text_cannot_be_selected(site):
    assert site.get("/bulk/pause?select=all&q=sync&match=inside").status == 422
    assert site.get("/bulk/pause?select=all&q=crm").status == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("q=mail", "names that begin with the text; upper and lower case differ"),
        ("q=mail&match=inside", "names that contain the text; upper and lower case differ"),
        ("q=MAIL", "No name begins with this text or contains it. Upper and lower case differ. Did you mean mail."),
        ("label=team=CRM", "A label is written as key=value, and matches as a whole. Upper and lower case differ."),
    ],
)
def test_list_says_how_it_was_searched(site, query, words):
    assert words in parsed(site.get(f"/schedules?{query}")).text
