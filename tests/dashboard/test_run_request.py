"""Who asked for a run and why, on its page; and what became of a dead letter, in the list and on its page."""

import pytest

from kron.engine.registrar import Actor, Registrar
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.rules.update import ScheduleUpdate
from kron.stores.memory import MemoryStore
from tests.dashboard.counted import CountedStore
from tests.dashboard.parsed import parsed
from tests.dashboard.served import dashboard_of, served
from tests.dashboard.test_actions import FixedClock
from tests.dashboard.test_bulk import NOW, REQUEST, run
from tests.stores.making import a_job, a_run

ANA = Actor("ana", "the <b>customer</b> asked")
BOB = Actor("bob", "again")


@pytest.fixture
def store():
    store = MemoryStore(FixedClock(NOW - 7_200))
    for name in ("a", "b"):
        run(Registrar(store).upsert(a_job(name, "*/10 * * * *")))
    store.clock.at = NOW
    return store


@pytest.fixture
def site(store):
    with served(dashboard_of(store)) as site:
        yield site


def dead_letter(store, name, number=1):
    (state,) = run(store.get([name]))
    dead = a_run(State.FAILED, number, identity=name, reason=Reason.LAUNCH_FAILED)._replace(outcome=Outcome.MISSED)
    assert run(store.commit([ScheduleUpdate(state, state, (dead,))], NOW * 1000)) == [True]
    return dead.key


def test_page_of_a_requested_run_says_who_asked_and_why(site, store):
    registrar = Registrar(store)
    trigger = run(registrar.trigger("a", "by hand", ANA))
    (backfill,) = run(registrar.backfill("a", NOW - 1_000, NOW - 500, "gap", actor=BOB))
    dead = dead_letter(store, "a")
    redrive = run(registrar.redrive(dead, actor=ANA))
    for each, words in (
        (trigger, "Run now, requested by ana 08:42:17. “the <b>customer</b> asked”"),
        (backfill, "Run past periods, requested by bob 08:42:17. “again”"),
        (redrive, f"Run again, requested by ana 08:42:17. “the <b>customer</b> asked” It repeats run {dead[:8]}."),
    ):
        assert words in parsed(site.get(f"/runs/{each.key}")).text
    links = [link.attributes.get("href") for link in parsed(site.get(f"/runs/{redrive.key}")).all("a")]
    assert f"/runs/{dead}" in links


def test_page_says_nothing_that_is_not_certain(site, store):
    registrar = Registrar(store)
    keys = [run(registrar.trigger("a", name, actor)).key for name, actor in (("one", ANA), ("two", BOB))]
    nameless = run(registrar.trigger("b", "three")).key
    for key in (*keys, nameless):
        text = parsed(site.get(f"/runs/{key}")).text
        assert "Run now, requested 08:42:17. Who asked is not recorded." in text
        assert "by ana" not in text and "by bob" not in text
    of_calendar = dead_letter(store, "b")
    assert "requested" not in parsed(site.get(f"/runs/{of_calendar}")).text


def test_dead_letter_that_ran_again_says_when_by_whom_and_as_which_run(site, store):
    keys = [dead_letter(store, "a", number) for number in (1, 2)]
    before = parsed(site.get("/runs?dead=1"))
    assert "Run again 08:" not in before.text
    assert len([link for link in before.all("a") if link.text == "Run again"]) == 2
    assert site.send(f"/runs/{keys[0]}/again", {"note": "receiver is back"}).status == 303
    (new,) = [each for each in run(store.runs("a", 10)) if each.trigger]
    main = parsed(site.get("/runs?dead=1"))
    words = f"Run again 08:42:17 by local: Waiting, run {new.key[:8]}"
    assert words in main.text
    assert "2 runs of" in main.text and "· 1 of 2 run again" in main.text
    again = [link.attributes["href"] for link in main.all("a") if link.text == "Run again"]
    assert again == [f"/runs/{keys[1]}/again"]
    assert f"/runs/{new.key}" in [link.attributes.get("href") for link in main.all("a")]
    page = parsed(site.get(f"/runs/{keys[0]}"))
    assert f"{words}. “receiver is back”" in page.text
    assert "Run again…" not in page.text
    assert "Run again…" in parsed(site.get(f"/runs/{keys[1]}")).text
    site.send("/bulk/redrive", {"name": keys, "request": REQUEST})
    assert "· all run again" in parsed(site.get("/runs?dead=1")).text


def test_pages_take_at_most_eight_calls_of_the_store(store):
    counted, keys = CountedStore(store), [dead_letter(store, name) for name in ("a", "b")]
    redriven = [run(Registrar(store).redrive(key, actor=ANA)).key for key in keys]
    with served(dashboard_of(counted)) as site:
        for path in ("/runs?dead=1", "/runs", *(f"/runs/{key}" for key in (*keys, *redriven))):
            counted.calls.clear()
            assert site.get(path).status == 200
            assert len([call for call in counted.calls if call != "now"]) <= 8, counted.calls
