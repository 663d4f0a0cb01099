"""Actions of operators: each page tells the effect that the form then has, and a form that is sent twice acts once."""

import asyncio
import re
from dataclasses import replace

import pytest

from kron import parse
from kron.apps.dashboard.access import Role
from kron.apps.dashboard.moment import read_moment, write_moment
from kron.engine.registrar import Registrar
from kron.errors import InvalidInput
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.timing.schedule.policy import Policy, Resume
from kron.timing.zone import instant_of
from tests.dashboard.parsed import parsed
from tests.dashboard.served import dashboard_of, served
from tests.stores.making import a_job

NOW = instant_of("2026-10-22T08:42:17Z")
NAME = "billing/invoices"  # with a slash: the address must carry it


class FixedClock:
    def __init__(self, now):
        self.at = now

    def now(self):
        return float(self.at)


def run(coroutine):
    return asyncio.run(coroutine)


@pytest.fixture
def store():
    store = MemoryStore(FixedClock(NOW - 7200))
    run(Registrar(store).upsert(a_job(NAME, "*/10 * * * *")))
    store.clock.at = NOW
    return store


@pytest.fixture
def site(store):
    with served(dashboard_of(store)) as site:
        yield site


def address(page):
    return f"/schedules/billing%252Finvoices/{page}"


def plain(reply):
    return " ".join(re.sub(r"<[^>]*>", " ", reply.text).split())


def state_of(store):
    (state,) = run(store.get([NAME]))
    return state


def fields_of(reply):
    return {each.attributes["name"]: each.attributes for each in parsed(reply, 422).all("input") if each.attributes}


@pytest.mark.parametrize("until", ["2026-13-01T00:00", "2026-10-22T08:00"])
def test_pause_with_a_wrong_end_keeps_the_form_and_says_why_at_its_field(site, store, until):
    fields = {"note": "bank holiday", "until": until}
    for reply in (
        site.send(address("pause"), fields),
        site.get(address("pause") + f"?note=bank+holiday&until={until}"),
    ):
        inputs = fields_of(reply)
        assert (inputs["note"]["value"], inputs["until"]["value"]) == ("bank holiday", until)
        assert inputs["until"]["aria-invalid"] == "true"
        refusal = next(each for each in parsed(reply, 422).all("div") if each.attributes.get("id") == "refusal")
        assert inputs["until"]["aria-describedby"] == "refusal" and refusal.attributes["role"] == "alert"
        assert any(part in refusal.text for part in ("is not a local time", "future"))
        assert "aria-invalid" not in inputs["note"]
    assert not state_of(store).paused


def test_pause_says_what_it_skips_and_does_that(site, store):
    text = plain(site.get(address("pause") + "?until=2026-10-22T09:15&note=bank+holiday"))
    assert "3 periods will be skipped : 08:50:00 , 09:00:00 , 09:10:00 ." in text
    assert "The first that runs again is 09:20:00" in text
    reply = site.send(address("pause"), {"note": "bank holiday", "until": "2026-10-22T09:15"})
    assert (reply.status, reply.headers["location"]) == (303, "/schedules/billing%252Finvoices")
    state, action = state_of(store), run(store.actions(NAME))[-1]
    assert (state.paused, state.paused_until) == (True, instant_of("2026-10-22T09:15:00Z") * 1000)
    assert (action.actor, action.note) == ("local", "bank holiday")


@pytest.mark.parametrize(("until", "part"), [("yesterday", "is not a local time"), ("2026-10-22T08:00", "future")])
def test_pause_until_a_time_that_cannot_be_is_refused(site, store, until, part):
    for reply in (site.get(address("pause") + f"?until={until}"), site.send(address("pause"), {"until": until})):
        assert reply.status == 422
        assert part in reply.text
    assert not state_of(store).paused


@pytest.mark.parametrize(
    ("resume", "part"),
    [
        (Resume.DROP, "2 periods that passed during the pause will not run."),
        (Resume.BY_DEADLINE, "Periods that passed during the pause run now, if their deadline allows it."),
    ],
)
def test_resume_says_what_becomes_of_the_periods_and_what_runs_next(site, store, resume, part):
    run(Registrar(store).upsert(a_job(NAME, "*/10 * * * *", policy=Policy(resume=resume))))
    site.send(address("pause"))
    store.clock.at = NOW + 1200
    text = plain(site.get(address("resume")))
    assert part in text
    assert "It runs next at 09:10:00" in text
    assert site.send(address("resume"), {"note": "ledger is back"}).status == 303
    assert not state_of(store).paused
    assert run(store.actions(NAME))[-1].note == "ledger is back"


@pytest.mark.parametrize("name", ["run", "backfill"])
def test_request_for_runs_is_shown_with_who_and_why(site, store, name):
    form = site.get(address(name)).text
    fields = dict(re.findall(r'name="(request|from|to)" value="([^"]*)"', form))
    site.send(address(name), {**fields, "which": "all", "note": "month end"})
    text = plain(site.get("/activity"))
    assert {"run": "Run now", "backfill": "Past periods run"}[name] in text
    assert "local" in text
    assert "month end" in text
    assert run(store.actions(NAME)) == []


def test_form_that_is_sent_twice_gives_one_run(site, store):
    reply = site.get(address("run"))
    assert "The next period, 08:50:00 , stays." in plain(reply)
    request = re.search(r'name="request" value="([^"]*)"', reply.text)[1]
    locations = {site.send(address("run"), {"request": request}).headers["location"] for _ in range(2)}
    (only,) = run(store.runs(NAME, 10))
    assert locations == {f"/runs/{only.key}"}
    assert only.trigger == request
    for wrong in ("", "backfill:x", "ui-0"):
        assert site.send(address("run"), {"request": wrong}).status == 422


def test_backfill_names_what_ran_and_can_leave_it_out(site, store):
    range_ = {"from": "2026-10-22T07:00", "to": "2026-10-22T07:30"}
    reply = site.get(address("backfill") + "?from=2026-10-22T07:00&to=2026-10-22T07:30")
    assert "4 periods , one after another. 4 did not run" in plain(reply)
    request = re.search(r'name="request" value="([^"]*)"', reply.text)[1]
    for _ in range(2):
        assert site.send(address("backfill"), {**range_, "request": request, "which": "all"}).status == 303
    assert len(run(store.runs(NAME, 20))) == 4
    too_long = {"from": "2020-01-01T00:00", "to": "2026-10-22T07:30", "request": request, "which": "all"}
    assert site.send(address("backfill"), too_long).status == 422
    assert len(run(store.runs(NAME, 20))) == 4


@pytest.mark.parametrize(
    ("text", "start", "count"),
    [
        ("*/2 * * * *", "2026-10-21T08:42", 721),
        ("* * * * *", "2026-10-22T02:42", 361),
        ("*/10 * * * * *", "2026-10-22T07:42", 361),
        ("* * * * * *", "2026-10-22T08:27", 901),
    ],
)
def test_backfill_proposes_the_longest_range_with_up_to_1000_periods(site, store, text, start, count):
    run(Registrar(store).upsert(replace(a_job(NAME), schedule=parse(text, dialect="service"))))
    reply = site.get(address("backfill"))
    assert reply.status == 200
    assert f'name="from" value="{start}"' in reply.text
    assert f"{count} periods , one after another." in plain(reply)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("2026-10-22T07:30", "2026-10-22T07:00", "The range ends before it begins."),
        ("2024-10-22T07:00", "2026-10-22T07:00", "The range is longer than a year."),
        ("2026-10-23T07:00", "2026-10-24T07:00", "The range is in the future."),
        ("2026-10-01T07:00", "2026-10-22T07:00", "Range has more than 1000 periods."),
        ("soon", "2026-10-22T07:00", "&#39;soon&#39; is not a local time."),
    ],
)
def test_backfill_of_a_wrong_range_keeps_the_form_and_says_why(site, store, start, end, message):
    fields = {"from": start, "to": end, "request": "ui-" + "0" * 24, "which": "all", "note": "month end"}
    replies = [site.get(f"{address('backfill')}?from={start}&to={end}"), site.send(address("backfill"), fields)]
    for reply in replies:
        assert reply.status == 422
        assert message in plain(reply)
        assert f'name="from" value="{start}"' in reply.text and f'name="to" value="{end}"' in reply.text
        assert "No period" not in plain(reply)
    assert 'value="month end"' in replies[1].text
    assert run(store.runs(NAME, 20)) == []


def test_only_a_run_that_ended_badly_is_run_again(site, store):
    key = site.send(address("run"), {"request": "ui-" + "0" * 24}).headers["location"].rpartition("/")[2]
    assert "cannot be run again" in site.get(f"/runs/{key}/again").text
    assert site.send(f"/runs/{key}/again").status == 409
    assert site.get(f"/runs/{'0' * 64}/again").status == 404
    (only,) = run(store.runs(NAME, 10))
    assert only.state is State.PENDING


def test_reader_sees_the_command_and_no_button_that_works(store):
    with served(dashboard_of(store, Role.VIEWER, store_name="sqlite:jobs.db")) as site:
        for page in ("pause", "resume", "run", "backfill"):
            reply = site.get(address(page))
            assert reply.status == 200
            assert "kron " in reply.text
            assert not re.search(r'<button class="btn pri"(?![^>]*disabled)', reply.text)


def test_times_that_clocks_skip_are_refused():
    with pytest.raises(InvalidInput, match="skip"):
        read_moment("2026-03-29T02:30", "Europe/Paris")
    assert read_moment("2026-10-25T02:30", "Europe/Paris") == instant_of("2026-10-25T00:30:00Z") * 1000
    assert write_moment(instant_of("2026-10-25T00:30:00Z") * 1000, "Europe/Paris") == "2026-10-25T02:30"
