"""Quota of manual runs on pages: a bulk action waits for it, and a form that does not fit says so."""

import pytest

from kron.apps.dashboard.access import LoopbackAccess, Role
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.apps.service.config import Config
from kron.apps.service.dashboard import TenantQuota
from kron.apps.service.quota import Quotas
from kron.engine.registrar import Registrar
from tests.dashboard.parsed import parsed
from tests.dashboard.served import served
from tests.dashboard.test_bulk import REQUEST, filled, follow, hidden, run
from tests.service.test_run_quota import Stopwatch


@pytest.fixture
def store():
    return filled(12)


@pytest.fixture
def timer():
    return Stopwatch()


@pytest.fixture
def site(store, timer):
    quota = TenantQuota(Quotas(store, timer, Config(max_triggers_per_minute=5)))
    context = DashboardContext(store, Registrar(store), LoopbackAccess(Role.OPERATOR), quota=quota)
    with served(make_dashboard(context)) as site:
        yield site


def ran(store):
    return [name for name in run(store.identities("", 20)) if run(store.runs(name, 10))]


def test_bulk_action_starts_what_the_quota_allows_and_goes_on_after_the_wait(site, store, timer):
    everything = {"select": "all", "request": REQUEST}
    page = parsed(follow(site, site.send("/bulk/run", everything)))
    assert (page.one("h1").text, len(ran(store))) == ("5 schedules requested to run so far", 5)
    reply = site.send("/bulk/run", hidden(page))
    waiting = site.call("GET", reply.headers["location"], headers={"Sec-Fetch-Site": "same-origin"})
    assert len(ran(store)) == 5
    assert "The limit of manual runs per minute is reached. The next batch can be sent in 61 s." in parsed(waiting).text
    assert 'hx-trigger="load delay:61s"' in waiting.text
    for count in (10, 12):
        timer.seconds += 61
        page = parsed(follow(site, site.send("/bulk/run", hidden(page))))
        assert len(ran(store)) == count
        assert "The limit of manual runs" not in page.text
    assert page.one("h1").text == "12 schedules requested to run"


def test_first_batch_that_does_not_fit_is_refused_with_the_time_to_wait(site, store):
    names = [f"s{n:05d}" for n in range(6)]
    reply = site.send("/bulk/run", {"name": names, "request": REQUEST})
    assert (reply.status, "Request at most 5 runs at once" in reply.text) == (422, True)
    follow(site, site.send("/bulk/run", {"name": names[:3], "request": REQUEST}))
    reply = site.send("/bulk/run", {"name": names[3:], "request": REQUEST})
    assert (reply.status, "Retry in 13 s" in reply.text) == (429, True)
    assert ran(store) == names[:3]


def test_past_periods_above_the_quota_keep_their_form(site, store):
    fields = {"from": "2026-10-21T00:00", "to": "2026-10-21T08:00", "which": "all", "note": "late", "request": REQUEST}
    reply = site.send("/schedules/s00000/backfill", fields)
    page = parsed(reply, 422)
    assert "The request starts 9 runs, and the limit is 5 manual runs per minute." in page.text
    kept = {each.attributes["name"]: each.attributes.get("value") for each in page.all("input")}
    assert (kept["from"], kept["note"]) == ("2026-10-21T00:00", "late")
    assert run(store.runs("s00000", 10)) == []
