"""`GET /v1/calendar.ics`: the calendar that a calendar application subscribes to."""

import time
from datetime import UTC, datetime, timedelta
from itertools import count as counting
from types import SimpleNamespace

import pytest
from icalendar import Calendar

from kron.apps import agenda as agendas
from kron.apps.agenda import make_agenda
from kron.apps.service.routes import calendar as route
from kron.engine.clock import SystemClock
from kron.language.reading import parse
from kron.rules import upcoming as searches
from kron.rules.plan import plan
from kron.rules.state import ScheduleState
from kron.rules.upcoming import search_upcoming
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.key import key_of
from tests.service.http import serving
from tests.service.tokens import settings, token

TARGET = {"workflow_id": "w", "version": 1, "user_id": "u"}
DAY_MS = 86_400_000


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def service(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calendar")
    url = "memory:" if request.param == "memory" else f"sqlite:{folder}/kron.db"
    with serving(store=url, **settings(folder)) as service:
        yield service


def defined(service, name, text, **fields):
    reply = service.put(f"/v1/schedules/{name}", {"schedule": text, "dialect": "plus", **TARGET, **fields})
    assert reply.status == 200, reply.json


def downloaded(service, query=""):
    reply = service.get(f"/v1/calendar.ics{query}")
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "text/calendar; charset=utf-8"
    return Calendar.from_ical(reply.body.decode())


def events(service, query=""):
    return list(downloaded(service, query).walk("VEVENT"))


def uids(service, query=""):
    return [str(event["UID"]) for event in events(service, query)]


def test_every_run_of_thirty_days_is_an_event(service):
    tenant = service.bearing(token("month"))
    defined(tenant, "daily", "0 9 * * * @tz(Europe/Paris) @win(after,3h)")
    defined(tenant, "weekly", "0 9 * * MON @days(every=2w,from=2026-01-05)")
    calendar = downloaded(tenant)
    shown = list(calendar.walk("VEVENT"))
    starts = [event["DTSTART"].dt for event in shown]
    assert starts == sorted(starts)
    assert datetime.now(UTC) - timedelta(minutes=1) < starts[0]
    assert starts[-1] < datetime.now(UTC) + timedelta(days=30)
    assert [event["SUMMARY"] for event in shown].count("daily") in (29, 30, 31)
    assert "RRULE" not in calendar.to_ical().decode()
    assert "X-KRON-TRUNCATED" not in calendar
    for name in ("daily", "weekly"):
        runs = tenant.get(f"/v1/schedules/{name}/upcoming?n=2").json["runs"]
        shown_runs = [event for event in shown if event["SUMMARY"] == name]
        for run, event in zip(runs, shown_runs, strict=False):
            period = int(datetime.fromisoformat(run["period"]).timestamp())
            assert str(event["UID"]) == key_of(f"month/{name}", period)
            assert event["DTSTART"].dt == datetime.fromisoformat(run["at"])


def test_two_downloads_have_the_same_uids(service):
    tenant = service.bearing(token("stable"))
    defined(tenant, "window", "0 */6 * * * @win(after,5h)")
    first = uids(tenant)
    assert len(first) == len(set(first)) >= 118
    assert set(first[2:]) <= set(uids(tenant))


def test_only_schedules_of_the_tenant_and_prefix_are_shown(service):
    acme, beta = service.bearing(token("acme")), service.bearing(token("beta"))
    defined(acme, "secret-job", "0 9 * * *")
    defined(beta, "a-own", "0 9 * * *")
    defined(beta, "b-own", "0 9 * * *")
    assert {str(event["SUMMARY"]) for event in events(beta)} == {"a-own", "b-own"}
    assert {str(event["SUMMARY"]) for event in events(beta, "?prefix=b-")} == {"b-own"}
    assert events(beta, "?prefix=../acme/") == []
    assert not set(uids(beta)) & set(uids(acme))


def test_caller_without_a_token_or_scope_is_refused(service):
    assert service.get("/v1/calendar.ics").status == 401
    assert service.bearing(token("acme", scope="schedules:write")).get("/v1/calendar.ics").status == 403


def test_paused_and_deleted_schedules_have_no_events(service):
    tenant = service.bearing(token("quiet"))
    for name in ("paused", "deleted"):
        defined(tenant, name, "0 9 * * *")
    tenant.post("/v1/schedules/paused/pause", {})
    tenant.call("DELETE", "/v1/schedules/deleted")
    assert events(tenant) == []


def test_calendar_says_which_bound_was_reached(service, monkeypatch):
    tenant = service.bearing(token("many"))
    defined(tenant, "a", "* * * * *")
    defined(tenant, "b", "30 * * * * *")
    calendar = downloaded(tenant)
    assert len(list(calendar.walk("VEVENT"))) == 1_000
    assert {str(event["SUMMARY"]) for event in calendar.walk("VEVENT")} == {"a", "b"}
    assert str(calendar["X-KRON-TRUNCATED"]) == "events"
    monkeypatch.setattr(route, "MAX_SCHEDULES", 1)
    calendar = downloaded(tenant)
    assert {str(event["SUMMARY"]) for event in calendar.walk("VEVENT")} == {"a"}
    assert str(calendar["X-KRON-TRUNCATED"]) == "events,schedules"
    monkeypatch.setattr(route, "MAX_SCHEDULES", 2)
    monkeypatch.setattr(agendas, "SEARCH_SECONDS", -1.0)
    assert str(downloaded(tenant)["X-KRON-TRUNCATED"]) == "search"


def states(*texts):
    now = int(SystemClock().now() * 1000)
    jobs = [Job(f"job{n}", parse(text, dialect="plus"), target="test:it") for n, text in enumerate(texts)]
    return [ScheduleState(job, 1, now // 1000, now) for job in jobs], now


def test_agenda_is_the_start_of_all_runs_in_order():
    texts = ["*/7 * * * *", "0 9 * * * @win(around,4h)", "0 * * * * @only(hours=3)", "at 2036-01-01T00:00", "5 * * * *"]
    schedules, now = states(*texts)
    until = now + 30 * DAY_MS
    everything = sorted(
        (due.at, state.identity, due.nominal)
        for state in schedules
        for due in search_upcoming(state, now, 100_000).dues
        if due.at <= until
    )
    for count in (1, 10, 500, 10_000):
        assert make_agenda(schedules, now, until, count).runs == everything[:count]
        assert make_agenda(reversed(schedules), now, until, count).runs == everything[:count]
        assert make_agenda(schedules, now, until, count).has_more is (len(everything) > count)
        checked = [each._replace(next_check_at=plan(each, now, owner="w", lease=1).next_check_at) for each in schedules]
        assert make_agenda(checked, now, until, count).runs == everything[:count]


def test_agenda_of_a_thousand_frequent_schedules_is_cheap(monkeypatch):
    monkeypatch.setattr(agendas, "SEARCH_SECONDS", 60.0)
    schedules, now = states(*["* * * * * *"] * 1_000)
    began = time.process_time()
    agenda = make_agenda(schedules, now, now + 30 * DAY_MS, 1_000)
    assert time.process_time() - began < 2.0
    assert len(agenda.runs) == 1_000
    assert agenda.runs[-1].at - now <= 2_000


def test_agenda_computes_no_runs_that_it_does_not_need(monkeypatch):
    schedules, now = states("* * * * *", "* * * * * @win(after,30s)", *["at 2036-01-01T00:00"] * 100)
    checked = [each._replace(next_check_at=plan(each, now, owner="w", lease=1).next_check_at) for each in schedules]
    computed = []
    monkeypatch.setattr(searches, "due_of", lambda job, nominal: computed.append(nominal) or due_of(job, nominal))
    agenda = make_agenda(checked, now, now + 30 * DAY_MS, 10)
    assert (len(agenda.runs), agenda.has_more, agenda.complete) == (10, True, True)
    assert len(computed) <= 16  # one more for each frequent schedule; two where windows can overlap


def test_search_for_one_run_takes_little_of_the_time_for_all(monkeypatch):
    def due(job, nominal):
        return due_of(job, nominal)._replace(schedulable=job.identity != "job0")

    steps = counting()
    monkeypatch.setattr(agendas, "time", SimpleNamespace(thread_time=lambda: next(steps) / 100))
    monkeypatch.setattr(searches, "due_of", due)
    schedules, now = states("* * * * *", "0 * * * *")
    agenda = make_agenda(schedules, now, now + DAY_MS, 10)
    assert [run.identity for run in agenda.runs] == ["job1"] * 10
    assert not agenda.complete
