"""Bulk actions: what they would do, batch after batch, twice the same, and only if this browser confirmed them."""

import asyncio
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from kron.apps.dashboard.access import Role, Viewer
from kron.engine import bulk
from kron.engine.backfill import request_keys
from kron.engine.registrar import Actor, Registrar
from kron.rules.outcome import Outcome, Reason
from kron.rules.run import REDRIVE
from kron.rules.run_state import State
from kron.rules.upcoming import upcoming
from kron.rules.update import ScheduleUpdate
from kron.stores.memory import MemoryStore
from kron.timing.labels import label_tuple
from kron.timing.zone import instant_of
from tests.dashboard.parsed import parsed
from tests.dashboard.served import dashboard_of, served
from tests.dashboard.test_actions import FixedClock
from tests.stores.making import SECONDS, a_job, a_run

NOW = instant_of("2026-10-22T08:42:17Z")
REQUEST = "ui-" + "0" * 24


def run(coroutine):
    return asyncio.run(coroutine)


def filled(count, text="0 * * * *"):
    store = MemoryStore(FixedClock(NOW))
    jobs = [a_job(f"s{n:05d}", text, labels=label_tuple({"half": str(n % 2)})) for n in range(count)]
    run(Registrar(store).upsert_all([(job, Actor("ci")) for job in jobs]))
    return store


@pytest.fixture
def store():
    return filled(8)


@pytest.fixture
def site(store):
    with served(dashboard_of(store)) as site:
        yield site


def paused(store, limit=20_000):
    return run(store.identities("", limit, paused=True))


def follow(site, reply):
    """Return the page that a form leads to."""
    assert reply.status == 303, reply.text
    return site.get(reply.headers["location"])


def going_on(page):
    """Return the forms of a page that change something."""
    return [form for form in page.all("form") if form.attributes.get("method") == "post"]


def hidden(page):
    """Return the fields of the form that goes on."""
    (form,) = going_on(page)
    return {each.attributes["name"]: each.attributes["value"] for each in form.all("input")}


def test_list_offers_boxes_and_everything_that_matches(site):
    main = parsed(site.get("/schedules?q=s0000&label=half=1"))
    boxes = [each.attributes for each in main.all("input") if each.attributes.get("name") == "name"]
    assert [box["value"] for box in boxes] == ["s00001", "s00003", "s00005", "s00007"]
    (every,) = [link for link in main.all("a") if link.text == "Select everything that matches"]
    selected = parsed(site.get(every.attributes["href"]))
    forms = [form for form in selected.all("form") if "role" not in form.attributes]
    fields = {
        each.attributes["name"]: each.attributes["value"]
        for each in forms[0].all("input")
        if "name" in each.attributes and each.attributes["name"] != "name"
    }
    assert fields == {"q": "s0000", "label": "half=1", "select": "all"}
    assert [button.attributes["formaction"] for button in forms[0].all("button")] == [
        "/bulk/pause",
        "/bulk/resume",
        "/bulk/run",
    ]


def test_pause_counts_the_periods_that_fall_away(site, store):
    run(Registrar(store).pause("s00001", Actor("ana")))
    text = parsed(site.get("/bulk/pause?select=all")).text
    states = run(store.get(run(store.identities("", 100))))
    dues = [due for state in states if not state.paused for due in upcoming(state, NOW * 1000, 100)]
    count = sum(due.at <= (NOW + 86_400) * 1000 for due in dues)
    assert count == 7 * 24
    assert f"8 schedules; {count} periods of the next 24 hours fall away." in text
    assert "1 is paused in this way already." in text
    until = parsed(site.get("/bulk/pause?name=s00000&until=2026-10-22T11:30")).text
    assert "1 schedule; 3 periods of the next 24 hours fall away." in until


def test_pause_of_selected_schedules_is_recorded_and_repeated_does_nothing(site, store):
    form = {"name": ["s00001", "s00002", "absent"], "note": "bank holiday", "request": REQUEST}
    for done, kept in ((2, 0), (0, 2)):
        page = parsed(follow(site, site.send("/bulk/pause", form)))
        assert f"{done} schedules paused" in page.text
        assert f"{kept} were so already, 1 could not be changed." in page.text
        assert "absent: schedule 'absent' does not exist" in page.text
    assert paused(store) == ["s00001", "s00002"]
    actions = run(store.actions("s00001"))
    assert [(each.actor, each.note) for each in actions] == [("local", "bank holiday")]


def test_pause_of_everything_that_matches_is_that_of_the_filter(site, store):
    follow(site, site.send("/bulk/pause", {"select": "all", "label": "half=1", "request": REQUEST}))
    assert paused(store) == ["s00001", "s00003", "s00005", "s00007"]
    text = parsed(site.get("/bulk/resume?select=all&q=s0000")).text
    assert "4 of 8 schedules are paused, and will run again." in text
    assert "names that begin with “s0000”" in text
    follow(site, site.send("/bulk/resume", {"select": "all", "state": "paused", "request": REQUEST}))
    assert paused(store) == []
    assert run(store.actions("s00000")) == []


def test_run_now_sent_twice_gives_one_run_of_each(site, store):
    assert "2 schedules: one additional run of each." in parsed(site.get("/bulk/run?name=s00001&name=s00002")).text
    for _ in range(2):
        follow(site, site.send("/bulk/run", {"name": ["s00001", "s00002"], "request": REQUEST}))
    for name in ("s00001", "s00002"):
        assert [each.trigger for each in run(store.runs(name, 10))] == [REQUEST]
    assert run(store.runs("s00003", 10)) == []


@pytest.fixture
def letters(store):
    """Dead letters of three schedules."""
    keys = []
    for name in ("s00001", "s00002", "s00003"):
        (state,) = run(store.get([name]))
        dead = a_run(State.FAILED, identity=name, reason=Reason.LAUNCH_FAILED)._replace(outcome=Outcome.MISSED)
        assert run(store.commit([ScheduleUpdate(state, state, (dead,))], NOW * 1000)) == [True]
        keys.append(dead.key)
    return keys


def test_dead_letters_run_again_once_selected_or_all(site, store, letters):
    assert len(run(store.dead_letters("", 10))) == 3
    text = parsed(follow(site, site.send("/bulk/redrive", {"name": letters[:1], "request": REQUEST}))).text
    assert "1 dead letter requested to run again" in text
    plan = parsed(site.get("/bulk/redrive?select=all")).text
    assert "2 of 3 dead letters will run again. 1 ran again before, and stay as they are." in plan
    assert "1 dead letter" in parsed(site.get("/bulk/redrive?select=all&q=s00002")).one("h1").text
    for _ in range(2):
        follow(site, site.send("/bulk/redrive", {"select": "all", "request": REQUEST}))
    for name, key in zip(("s00001", "s00002", "s00003"), letters, strict=True):
        new = [each.key for each in run(store.runs(name, 10)) if each.trigger]
        assert new == request_keys(name, [SECONDS + 60], REDRIVE, key)
    assert site.send("/bulk/redrive", {"name": ["0" * 64], "request": REQUEST}).status == 404


def test_large_action_goes_on_batch_after_batch_from_its_address():
    store = filled(1_203, "0 0 1 1 *")
    with served(dashboard_of(store)) as site:
        assert "1,203 schedules" in parsed(site.get("/bulk/pause?select=all")).one("h1").text
        reply = site.send("/bulk/pause", {"select": "all", "note": "move", "request": REQUEST})
        address, steps = reply.headers["location"], []
        while True:
            page = parsed(site.get(address))
            assert parsed(site.get(address)).text == page.text, "it can be read again"
            steps.append((page.one("h1").text, len(paused(store))))
            if not going_on(page):
                break
            address = site.send("/bulk/pause", hidden(page)).headers["location"]
        assert steps == [
            ("500 schedules paused so far", 500),
            ("1,000 schedules paused so far", 1_000),
            ("1,203 schedules paused", 1_203),
        ]
        assert {len(run(store.actions(name))) for name in ("s00000", "s00499", "s00500", "s01202")} == {1}


def test_lost_answer_is_repaired_by_sending_the_batch_again():
    """The web process dies after it has written a batch: the address of the batch before goes on."""
    store = filled(700, "0 0 1 1 *")
    with served(dashboard_of(store)) as site:
        first = site.send("/bulk/pause", {"select": "all", "note": "move", "request": REQUEST}).headers["location"]
        site.send("/bulk/pause", hidden(parsed(site.get(first))))  # its answer is lost
    with served(dashboard_of(store)) as again:
        again.cookies.update(site.cookies)
        page = parsed(again.get(first))
        last = parsed(follow(again, again.send("/bulk/pause", hidden(page))))
        assert "500 schedules paused" in last.text
        assert "200 were so already" in last.text
    assert len(paused(store)) == 700
    assert {len(run(store.actions(name))) for name in ("s00000", "s00600")} == {1}


def test_action_ends_at_its_limit_and_the_rest_needs_another_confirmation(monkeypatch):
    for name in ("kron.apps.dashboard.actions.bulk.MAX_BULK", "kron.apps.bulk_plan.MAX_BULK"):
        monkeypatch.setattr(name, 1_000)
    store = filled(1_100, "0 0 1 1 *")
    with served(dashboard_of(store)) as site:
        assert parsed(site.get("/bulk/pause?select=all")).one("h1").text == "Pause 1,000+ schedules?"
        reply = site.send("/bulk/pause", {"select": "all", "request": REQUEST})
        reply = site.send("/bulk/pause", hidden(parsed(follow(site, reply))))
        page = parsed(follow(site, reply))
        assert not going_on(page)
        assert len(paused(store)) == 1_000
        (rest,) = [link.attributes["href"] for link in page.all("a") if link.text == "The rest…"]
        assert parsed(site.get(rest)).one("h1").text == "Pause 100 schedules?"
        assert len(paused(store)) == 1_000


def test_foreign_address_cannot_make_a_page_go_on(site, store):
    """A page that goes on by itself needs a ticket that only this browser got, for exactly these words."""
    address = site.send("/bulk/pause", {"name": "s00001", "note": "a", "request": REQUEST}).headers["location"]
    values = dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
    forged = [
        {**values, "ticket": "0" * 64},
        {**values, "ticket": ""},
        {**values, "select": "all"},
        {**values, "note": "b"},
        {**values, "request": "ui-" + "1" * 24},
    ]
    for each in forged:
        page = site.get(f"/bulk/pause?{urlencode({**each, 'after': 's00001'})}")
        assert "hx-post" not in page.text
        assert "Go on" not in page.text
    other = type(site)(site.port)
    assert "paused" not in parsed(other.get(address)).one("h1").text
    assert "1 schedule paused" in parsed(site.get(address)).one("h1").text


def test_requests_that_cannot_be_are_refused(site, store):
    assert site.send("/bulk/pause", {"select": "all"}).status == 422, "it has no name"
    assert site.send("/bulk/pause", {"select": "all", "request": REQUEST, "until": "2020-01-01T00:00"}).status == 422
    assert site.get("/bulk/pause?select=all&until=2020-01-01T00:00").status == 422
    assert site.get("/bulk/pause?select=all&state=odd").status == 422
    many = urlencode([("name", f"s{n}") for n in range(501)])
    assert site.get(f"/bulk/pause?{many}").status == 422
    assert "Nothing is selected" in site.get("/bulk/pause").text
    assert paused(store) == []


def test_wrong_end_of_a_pause_keeps_the_selection_and_says_why_at_its_field(site, store):
    wrong = {"name": ["s00001", "s00002"], "note": "move", "until": "2020-01-01T00:00", "request": REQUEST}
    for reply in (site.send("/bulk/pause", wrong), site.get(f"/bulk/pause?{urlencode(wrong, doseq=True)}")):
        main = parsed(reply, 422)
        inputs = [each.attributes for each in main.all("input")]
        assert [each["value"] for each in inputs if each.get("name") == "name"] == ["s00001", "s00002"]
        (until,) = [each for each in inputs if each.get("name") == "until"]
        assert (until["value"], until["aria-invalid"]) == ("2020-01-01T00:00", "true")
        assert [each["value"] for each in inputs if each.get("name") == "note"] == ["move"]
        assert "future" in main.text
    assert paused(store) == []


@pytest.mark.parametrize("address", ["/schedules", "/runs?dead=1"])
def test_everything_that_matches_can_be_selected_before_any_row_is(site, letters, address):
    """A script hides the bar of the selection while no row is selected."""
    (link,) = [each for each in parsed(site.get(address)).all("a") if each.text == "Select everything that matches"]
    while link is not None:
        assert "bulk" not in (link.attributes.get("class") or "").split()
        assert "hidden" not in link.attributes
        link = link.parent


def test_tenant_reaches_only_its_own_schedules(letters, store):
    run(Registrar(store).upsert(a_job("acme/a", "0 * * * *")))

    async def access(request):
        return Viewer("ana", Role.OPERATOR, tenants=("acme",))

    with served(dashboard_of(store, access=access)) as site:
        token = re.search(r'name="form_token" value="([^"]*)"', site.get("/t/acme/").text)[1]
        site.send("/t/acme/bulk/pause", {"select": "all", "request": REQUEST}, token=token)
        site.send("/t/acme/bulk/pause", {"name": ["s00001", "../s00001"], "request": REQUEST}, token=token)
        assert site.send("/t/acme/bulk/redrive", {"name": letters, "request": REQUEST}, token=token).status == 404
        site.send("/t/acme/bulk/redrive", {"select": "all", "request": REQUEST}, token=token)
    assert paused(store) == ["acme/a"]
    assert run(store.runs("s00001", 10))[0].trigger == ""


def test_reader_sees_the_effect_and_no_button_that_works(store):
    with served(dashboard_of(store, Role.VIEWER)) as site:
        for kind in ("pause", "resume", "run"):
            reply = site.get(f"/bulk/{kind}?select=all")
            assert "8 schedules" in reply.text
            assert not re.search(r'<button class="btn pri"(?![^>]*disabled)', reply.text)
        assert "formaction" not in site.get("/schedules").text


def test_error_of_the_store_is_no_problem_of_one_schedule(store):
    registrar = Registrar(store)

    async def fail(name):
        raise bulk.KronError("STORE", "gone", hint="")

    with pytest.raises(bulk.KronError, match="gone"):
        run(bulk._each(["a", "b"], (), fail))
    result = run(bulk.resume_all(registrar, ["s00001", "absent"], Actor("x")))
    assert (result.done, result.unchanged, [name for name, _ in result.problems]) == (0, 1, ["absent"])
