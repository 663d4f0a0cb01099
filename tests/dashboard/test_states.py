"""What pages show when there is nothing, when the viewer may only look, and when the store does not answer."""

import asyncio
import time

import pytest

from kron.apps.dashboard import route
from kron.apps.dashboard.access import Role, Viewer
from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.errors import StoreUnavailable
from kron.language import parse
from kron.stores.memory import MemoryStore
from kron.timing.job import Job
from tests.dashboard.addresses import page_paths
from tests.dashboard.parsed import parsed
from tests.dashboard.seeded import NOW
from tests.dashboard.served import dashboard_of, served

LISTS = ("/", "/schedules", "/runs", "/runs?dead=1", "/activity")


@pytest.fixture(scope="module")
def empty_site():
    with served(dashboard_of(MemoryStore(ManualClock(NOW)))) as site:
        yield site


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/", "No schedules yet"),
        ("/schedules", "No schedules yet"),
        ("/schedules?q=a", "Nothing matches “a”"),
        ("/schedules?state=late", "No schedule is late"),
        ("/schedules?state=paused", "No schedule is paused"),
        ("/runs", "No such run"),
        ("/runs?outcome=running", "No run is active"),
        ("/runs?dead=1", "No dead letters"),
        ("/activity", "Nothing was changed yet"),
    ],
)
def test_empty_store_says_what_is_missing(empty_site, path, text):
    main = parsed(empty_site.get(path))
    assert text in main.text
    assert main.all("div", "empty")


def test_text_without_a_match_offers_near_names(site):
    text = parsed(site.get("/schedules?q=bilin")).text
    assert "Nothing matches “bilin”" in text
    assert "billing.invoices" in text
    assert "Did you mean" not in parsed(site.get("/schedules?q=zzzz")).text


def test_viewer_is_told_that_nothing_can_be_changed(seeded):
    with served(dashboard_of(seeded, Role.VIEWER)) as site:
        for path in ("/", "/schedules", "/runs"):
            assert "Read only." in parsed(site.get(path)).text
    with served(dashboard_of(seeded)) as site:
        assert "Read only." not in parsed(site.get("/")).text


def test_page_that_does_not_exist_says_so(site):
    assert site.get("/nowhere").status == 404


class Broken:
    """A store that fails, or hangs, at every question or at every question but the time."""

    def __init__(self, *, hangs, knows_time):
        self.hangs, self.knows_time = hangs, knows_time

    @property
    def overview(self):
        return self

    def __getattr__(self, name):
        async def answer(*given, **named):
            if name == "now" and self.knows_time:
                return NOW * 1000
            if self.hangs:
                await asyncio.sleep(60)
            raise StoreUnavailable("STORE_FAILED", "db.example:5432: connection refused", hint="check the database")

        return answer


WITHOUT_STORE = ("/try", "/account", "/calendar")  # the calendar shows clock changes, and dashes without the store


@pytest.mark.parametrize("knows_time", [True, False])
@pytest.mark.parametrize("hangs", [True, False])
@pytest.mark.parametrize("path", [path for path in page_paths() if "{" not in path and path not in WITHOUT_STORE])
def test_store_that_does_not_answer_gets_a_page_that_says_so(monkeypatch, path, hangs, knows_time):
    monkeypatch.setattr(route, "ANSWER_SECONDS", 0.5)
    with served(dashboard_of(Broken(hangs=hangs, knows_time=knows_time))) as site:
        began = time.monotonic()
        main = parsed(site.get(f"{path}?select=all"), 503)  # a page of a bulk action reads nothing for nothing
        assert time.monotonic() - began < 10
    assert main.one("h1").text == "The store does not answer"
    assert ("connection refused" in main.text) != hangs
    assert [link.text for link in main.one("div", "note").all("a")] == ["Try again"]


def test_only_operators_read_where_the_store_is():
    for role in Role:
        with served(dashboard_of(Broken(hangs=False, knows_time=True), role)) as site:
            assert ("db.example" in site.get("/").text) == (role is Role.OPERATOR)


@pytest.mark.parametrize("name", ["billing.invoice", "Billing.invoices"])
def test_schedule_that_does_not_exist_names_those_that_look_like_it(site, name):
    main = parsed(site.get(f"/schedules/{name}"), 404)
    assert main.one("h1").text == f"There is no schedule '{name}'."
    links = {link.text: link.attributes["href"] for link in main.all("a", "btn")}
    assert links["billing.invoices"] == "/schedules/billing.invoices"


def test_schedule_that_looks_like_none_names_none(site):
    main = parsed(site.get("/schedules/zzzzzz"), 404)
    assert "never defined here" in main.text
    assert "look like it" not in main.text


def test_tenant_is_not_told_names_of_another_one():
    async def access(request):
        return Viewer("ana", Role.VIEWER, tenants=("acme",))

    async def filled():
        store = MemoryStore(ManualClock(NOW))
        for name in ("acme/report", "other/reports"):
            await Registrar(store).upsert(Job(name, parse("0 4 * * *", dialect="kron"), target="https://x.example/"))
        return store

    with served(dashboard_of(asyncio.run(filled()), access=access)) as site:
        main = parsed(site.get("/t/acme/schedules/reports"), 404)
        assert [link.text for link in main.all("a", "btn")] == ["report"]
        assert "other" not in main.text
