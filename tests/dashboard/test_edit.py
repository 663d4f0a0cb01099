"""Edit: the page says what a text does, the form does that, and no change of another person is overwritten unseen."""

import asyncio
import re
from dataclasses import replace

import pytest

from kron import Scheduler
from kron.apps.dashboard.access import Role
from kron.apps.wiring import open_store
from kron.engine.registrar import Actor, Registrar
from kron.language.source import source_of
from kron.rules.upcoming import upcoming
from kron.stores.memory import MemoryStore
from kron.timing.schedule.policy import SECOND, SERVICE, Overlap, Policy
from kron.timing.zone import instant_of, rfc3339_ms
from tests.dashboard.parsed import more, parsed
from tests.dashboard.served import ask, dashboard_of, in_thread, served, watched
from tests.dashboard.test_actions import FixedClock
from tests.service.http import serving
from tests.stores.making import a_job

NOW = instant_of("2026-10-22T08:42:17Z")
NAME = "billing/invoices"  # with a slash: the address must carry it
ADDRESS = "/schedules/billing%252Finvoices/edit"
DEFINITION = {"text": "0 3 * * * @win(after,1h)", "dialect": "kron", "zone": "", "overlap": "skip", "note": ""}


def run(coroutine):
    return asyncio.run(coroutine)


def written(text, **more):
    """A job whose text a person wrote."""
    job = a_job(NAME, text, **more)
    return replace(job, source=source_of(text, "kron", job.schedule))


@pytest.fixture
def store():
    store = MemoryStore(FixedClock(NOW))
    run(Registrar(store).upsert(written("0 2 * * * @win(after,1h)"), Actor("ben", "first")))
    return store


@pytest.fixture
def site(store):
    with served(dashboard_of(store)) as site:
        yield site


def state_of(store):
    return run(store.get([NAME]))[0]


def query(**values):
    return "?" + "&".join(f"{name}={value.replace(' ', '+')}" for name, value in values.items())


def dues(store):
    return [due.at for due in upcoming(state_of(store), NOW * 1000, 1000) if due.at <= (NOW + 30 * 86_400) * 1000]


def times(main, column):
    """Return the instants that a column of the comparison shows."""
    cells = [row.all("td")[column] for row in main.all("tr") if row.all("td")]
    return [cell.all("time")[0].attributes["datetime"] for cell in cells if cell.all("time")]


def all_times(site, address, column):
    shown = []
    while address:
        main = parsed(site.get(address))
        shown += times(main, column)
        address = more(main)
    return shown


def test_preview_lists_the_runs_before_and_the_runs_that_follow(site, store):
    address = ADDRESS + query(text="0 3 * * * @win(after,1h)", dialect="kron")
    before, after = all_times(site, address, 1), all_times(site, address, 2)
    assert before == [rfc3339_ms(at) for at in dues(store)]
    assert state_of(store).revision == 1
    assert site.send(ADDRESS, DEFINITION).status == 303
    assert after == [rfc3339_ms(at) for at in dues(store)]
    assert len(after) == 30


def test_counts_are_those_of_the_comparison(site):
    main = parsed(site.get(ADDRESS + query(text="0 2 * * * @win(after,2h)")))
    counts = [int(each.one("b").text) for each in main.one("div", "trio").children if hasattr(each, "tag")]
    assert counts == [0, 30, 0]
    rows = [row for row in main.all("tr") if row.all("td")]
    assert len(rows) == 25
    assert all("→ Moved" in row.text and re.search(r"[+−]\d+ (s|min)", row.text) for row in rows)


def test_words_difference_and_lint_follow_the_text(site):
    main = parsed(site.get(ADDRESS + query(text="30 2 * * * @tz(Europe/Paris)", overlap="queue")))
    assert "At 02:30 every day, Europe/Paris time" in main.text
    assert "saved as revision 2, if it is still revision 1" in main.text
    assert [each.text for each in main.all("ins")] == ["30", "@tz(Europe/Paris)"]
    assert "DST_FOLD" in main.text
    assert "waits" in main.text or "queue" in main.text


def test_unchanged_definition_is_called_unchanged_and_makes_no_revision(site, store):
    assert "The definition stays as it is." in site.get(ADDRESS).text
    assert site.send(ADDRESS, {"note": "nothing"}).status == 303
    assert state_of(store).revision == 1


def test_saved_definition_is_recorded_with_who_and_why_and_keeps_the_rest(site, store):
    before = state_of(store).job
    reply = site.send(ADDRESS, {**DEFINITION, "overlap": "queue", "zone": "Europe/Paris", "note": "ERP is slow"})
    assert (reply.status, reply.headers["location"]) == (303, "/schedules/billing%252Finvoices")
    state, revision = state_of(store), run(store.revisions(NAME))[-1]
    assert (revision.number, revision.actor, revision.note) == (2, "local", "ERP is slow")
    source = state.job.source
    assert (source.text, source.dialect, source.zone) == ("0 3 * * * @win(after,1h)", "kron", "Europe/Paris")
    assert state.policy == replace(before.schedule.policy, overlap=Overlap.QUEUE)
    assert replace(state.job, schedule=before.schedule, source=before.source) == before


def test_form_that_is_sent_twice_makes_one_revision(site, store):
    for _ in range(2):
        assert site.send(ADDRESS, {**DEFINITION, "revision": "1", "compared": "1"}).status == 303
    assert state_of(store).revision == 2


def test_conflict_keeps_the_text_and_compares_with_the_new_revision(site, store):
    run(Registrar(store).upsert(written("0 4 * * *"), Actor("ana<b>", "moved away")))
    reply = site.send(ADDRESS, {**DEFINITION, "note": "mine", "revision": "1", "compared": "1"})
    main = parsed(reply, 412)
    assert "was changed meanwhile by ana<b>, revision 2" in main.text
    assert "“moved away” Your text is kept, and is now compared with revision 2." in main.text
    assert main.one("textarea").text == DEFINITION["text"]
    assert state_of(store).job.source.text == "0 4 * * *"
    fields = {each.attributes["name"]: each.attributes.get("value", "") for each in main.all("input")}
    assert (fields["revision"], fields["compared"], fields["note"]) == ("1", "2", "mine")
    assert all("T04:00:00" in at for at in times(main, 1))
    sent = {**DEFINITION, "revision": fields["revision"], "compared": fields["compared"]}
    assert site.send(ADDRESS, sent).status == 303
    assert (state_of(store).revision, state_of(store).job.source.text) == (3, DEFINITION["text"])


def test_preview_after_a_foreign_change_says_so(site, store):
    run(Registrar(store).upsert(written("0 4 * * *"), Actor("ana")))
    assert "was changed meanwhile by ana, revision 2" in site.get(ADDRESS + query(text="0 5 * * *", revision="1")).text
    assert "was changed meanwhile" not in site.get(ADDRESS).text


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"text": "0 25 * * *"}, "Hour field value 25 is out of range"),
        ({"text": "x" * 1001}, "1,001 characters"),
        ({"zone": "Europe/Pariz"}, "Europe/Pariz"),
        ({"dialect": "posx"}, "Unknown dialect"),
        ({"overlap": "often"}, "Unknown overlap policy"),
        ({"text": "0 3 * * * @only(dow=MON) @avoid(dow=MON)"}, "contradict each other"),
    ],
)
def test_invalid_draft_is_refused_where_it_is_wrong_and_kept(site, store, fields, part):
    draft = {**DEFINITION, **fields}
    for reply, status in ((site.get(ADDRESS + query(**draft)), 200), (site.send(ADDRESS, draft), 422)):
        main = parsed(reply, status)
        assert part in main.text
        assert main.one("textarea").text == draft["text"][:1000]
    assert state_of(store).revision == 1


def test_invalid_text_is_underlined_and_the_nearest_valid_text_is_a_link(site):
    main = parsed(site.get(ADDRESS + query(text="0 3 * * * @wim(after,1h)")))
    assert main.one("u").text == "wim" or "@wim" in main.one("u").text
    (offer,) = [link for link in main.all("a") if link.text == "0 3 * * * @win(after,1h)"]
    assert "At 03:00 every day" in parsed(site.get(offer.attributes["href"])).text


def test_policy_of_the_text_is_taken_back_with_the_text(site, store):
    text = "0 2 * * * @policy(deadline=30m)"
    job = written(text)
    run(Registrar(store).upsert(replace(job, schedule=replace(job.schedule, policy=Policy(deadline=1800 * SECOND)))))
    site.send(ADDRESS, {**DEFINITION, "text": "0 2 * * *"})
    assert state_of(store).policy == Policy()
    site.send(ADDRESS, {**DEFINITION, "text": "0 2 * * * @policy(deadline=10m)"})
    assert state_of(store).policy == Policy(deadline=600 * SECOND)


def test_policy_of_a_preset_is_not_written_into_a_text(site, store):
    job = written("0 2 * * *", policy=replace(SERVICE, preset="service"))
    run(Registrar(store).upsert(job))
    assert (
        "its text has no @policy" in site.send(ADDRESS, {**DEFINITION, "text": "0 2 * * * @policy(deadline=1m)"}).text
    )
    assert site.send(ADDRESS, {**DEFINITION, "text": "0 3 * * *", "overlap": "allow"}).status == 303
    policy = state_of(store).policy
    assert (policy.overlap, policy.given, policy.preset) == (Overlap.ALLOW, ("overlap",), "service")


@pytest.mark.parametrize(
    ("policy", "fields", "part"),
    [
        (Policy(deadline=None, jitter=SECOND), {}, "jitter"),
        (Policy(overlap=Overlap.ALLOW, overlap_limit=3), {"overlap": "skip"}, "limits its active runs"),
    ],
)
def test_text_that_does_not_fit_the_policy_is_refused(site, store, policy, fields, part):
    run(Registrar(store).upsert(written("0 2 * * *", policy=policy)))
    assert part in parsed(site.send(ADDRESS, {**DEFINITION, **fields}), 422).text


def test_page_says_that_code_replaces_the_edit_and_code_does(tmp_path):
    path = tmp_path / "jobs.db"
    asyncio.run(_started(path))
    with served(watched(f"sqlite:{path}")) as site:
        assert "An application declares this schedule in its code." in site.get("/schedules/nightly/edit").text
        assert site.send("/schedules/nightly/edit", {**DEFINITION, "text": "0 5 * * *"}).status == 303
    assert asyncio.run(_started(path)) == ["0 4 * * *", "0 5 * * *", "0 4 * * *"]


async def _started(path):
    """Start an application that declares a job, and return the texts of its revisions."""
    scheduler = Scheduler(f"sqlite:{path}")

    @scheduler.job("0 4 * * *", dialect="kron")
    async def nightly():
        pass

    async with scheduler:
        pass
    async with open_store(f"sqlite:{path}") as store:
        return [revision.job.source.text for revision in await store.revisions("nightly")]


@pytest.mark.parametrize(("actor", "is_said"), [("kron load", True), ("DeclarativeScheduler", True), ("ana", False)])
def test_page_says_that_a_file_replaces_the_edit(site, store, actor, is_said):
    run(Registrar(store).upsert(written("0 4 * * *"), Actor(actor)))
    assert ("A file has defined this schedule." in site.get(ADDRESS).text) is is_said


def test_reader_sees_the_effect_and_no_button_that_works(store):
    with served(dashboard_of(store, Role.VIEWER, store_name="sqlite:jobs.db")) as site:
        reply = site.get(ADDRESS + query(text="0 3 * * *"))
        assert f"kron ui --operator --store=sqlite:jobs.db --listen=127.0.0.1:{site.port + 1}" in reply.text
        assert not re.search(r'<button class="btn pri"(?![^>]*disabled)', reply.text)


def test_unknown_and_deleted_schedules_cannot_be_edited(site, store):
    assert site.get("/schedules/absent/edit").status == 404
    run(Registrar(store).delete(NAME))
    assert (site.get(ADDRESS).status, site.send(ADDRESS, DEFINITION).status) == (404, 404)


def test_settings_of_a_service_hold_for_its_dashboard():
    with serving(min_interval_ms=60_000) as service:
        body = {"schedule": "0 9 * * *", "timezone": "UTC", "target": "http://127.0.0.1:9/hook"}
        assert service.put("/v1/schedules/a", body).status == 200
        page = service.get("/ui/schedules/a/edit?text=*+*+*+*+*+*&dialect=service")
        assert b"it runs every 1 s" in page.body


def test_comparison_that_ends_before_30_days_says_so_at_its_top(site, store):
    run(Registrar(store).upsert(written("* * * * *"), Actor("ana")))
    for text, is_short in (("*/2 * * * *", True), ("0 3 * * *", True)):
        main = parsed(site.get(ADDRESS + query(text=text)))
        (effect,) = [each for each in main.all("section") if each.attributes.get("id") == "effect"]
        heading = effect.one("header").text
        assert heading.startswith("Until ") is is_short
        assert ("not 30 days: it has too many runs" in heading) is is_short
        until = re.search(r"Until (.*?) *not 30", heading)[1]
        assert f"Compared until {until}." in effect.one("footer").text
    run(Registrar(store).upsert(written("0 4 * * *"), Actor("ana")))
    main = parsed(site.get(ADDRESS + query(text="0 3 * * *")))
    (effect,) = [each for each in main.all("section") if each.attributes.get("id") == "effect"]
    assert effect.one("header").text == "The next 30 dayscompared run by run"


def compared_of(reply):
    return re.search(r'name="compared" value="(\d+)"', reply.text)[1]


def test_typing_does_not_move_the_revision_that_is_replaced(site, store):
    """A page that is loaded shows the new revision. One that a person types in only asks for the effect."""
    fields = {"text": "0 3 * * *", "revision": "1", "compared": "1"}
    before = site.get(ADDRESS + query(**fields), **{"HX-Request": "true"})
    assert compared_of(before) == "1"
    run(Registrar(store).upsert(written("0 5 * * *"), Actor("bob", "earlier")))
    typed = site.get(ADDRESS + query(**fields), **{"HX-Request": "true"})
    assert compared_of(typed) == "1"
    assert "Preview the text before you save it." in typed.text
    assert site.send(ADDRESS, fields).status == 412
    loaded = site.get(ADDRESS + query(**fields))
    assert compared_of(loaded) == "2"
    assert "Preview the text before" not in loaded.text
    assert site.send(ADDRESS, {**fields, "compared": "2"}).status == 303


def test_notice_of_a_change_by_another_person_stands_above_the_form(site, store):
    run(Registrar(store).upsert(written("0 5 * * *"), Actor("bob", "earlier")))
    text = site.get(ADDRESS + query(text="0 3 * * *", revision="1", compared="1")).text
    notice = text.index("was changed meanwhile by bob")
    assert notice < text.index('<form id="edit"') < text.index(">Save</button>")
    assert 'hx-select-oob="#effect,#meanwhile"' in text, "and it appears while a person types"


@pytest.mark.slow
def test_person_who_types_sees_the_change_of_another_person_and_overwrites_nothing_unseen(page):
    def defined():
        store = MemoryStore(FixedClock(NOW))
        run(Registrar(store).upsert(written("0 2 * * *"), Actor("ben", "first")))
        return store

    store = in_thread(defined)
    with served(dashboard_of(store)) as site:
        page.goto(site.address + ADDRESS)
        ask(Registrar(store).upsert(written("0 5 * * *"), Actor("bob", "earlier")))
        page.locator("textarea").fill("0 3 * * *")
        page.locator("#meanwhile").get_by_text("was changed meanwhile by bob").wait_for(timeout=10_000)
        assert page.locator("[name=compared]").input_value() == "1"
        page.get_by_role("button", name="Save").click()
        page.wait_for_load_state()
        assert page.locator("[name=compared]").input_value() == "2"
        assert ask(store.get([NAME]))[0].revision == 2
        page.get_by_role("button", name="Save").click()
        page.wait_for_url(site.address + ADDRESS.removesuffix("/edit"))
        assert ask(store.get([NAME]))[0].revision == 3
