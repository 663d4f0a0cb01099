"""Pages that only show after something happened, in a real browser: errors, progress, rare runs, tenants."""

import asyncio

import pytest

from kron.apps.dashboard.access import LoopbackAccess, Role
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.engine.clock import ManualClock, SystemTimer
from kron.engine.load_pass import LoadPass
from kron.engine.registrar import Registrar
from kron.errors import QuotaExceeded
from kron.stores.memory import MemoryStore
from tests.dashboard.openid_provider import providing
from tests.dashboard.seeded import NOW
from tests.dashboard.served import dashboard_of, in_thread, served
from tests.dashboard.signing_in import serving_with_login
from tests.dashboard.test_browser import LOOKS, Watched
from tests.dashboard.test_login_browser import check_look, sign_in
from tests.stores.making import a_job

pytestmark = pytest.mark.timeout(300)
NO_RUN = "0" * 64
POST = """([address, fields]) => {
    const form = document.createElement('form'), token = document.querySelector('input[name=form_token]').value;
    form.method = 'post'; form.action = address;
    for (const [name, value] of Object.entries({form_token: token, ...fields})) {
        const input = document.createElement('input');
        input.type = 'hidden'; input.name = name; input.value = value; form.append(input);
    }
    document.body.append(form); form.submit();
}"""


class NoMoreRuns:
    def batch_size(self, size):
        return size

    def spend(self, tenant, starts):
        raise QuotaExceeded("QUOTA", "1,000 runs were requested within an hour", hint="wait for an hour")


async def filled():
    store = MemoryStore(ManualClock(float(NOW)))
    texts = {"close.month": "0 4 1 * *", "payroll.transfer": "0 6 25 * * @tz(Europe/Berlin)"}
    texts |= {f"audit.of-a-department-{n:02}": "0 4 3 * *" for n in range(14)}
    texts |= {"paris": "30 2 * * * @tz(Europe/Paris)", "york": "30 1 * * * @tz(America/New_York)"}
    texts |= {f"nightly.report-{n}": "0 0 * * *" for n in range(6)}
    for name, text in texts.items():
        await Registrar(store).upsert(a_job(name, text))
    await LoadPass(store, SystemTimer(), "w").once()
    return store


@pytest.fixture(scope="module")
def store():
    return in_thread(asyncio.run, filled())


@pytest.fixture(scope="module")
def site(store):
    context = DashboardContext(store, Registrar(store), LoopbackAccess(Role.OPERATOR), quota=NoMoreRuns())
    with served(make_dashboard(context)) as site:
        yield site


@pytest.fixture(scope="module")
def viewer_site(store):
    with served(dashboard_of(store, Role.VIEWER)) as site:
        yield site


@pytest.fixture
def watch(browser, width, theme):
    """Returns a page that is watched, of a site."""
    pages = []

    def watched(site):
        pages.append(Watched(browser, site, width, theme))
        return pages[-1]

    yield watched
    for each in pages:
        each.context.close()


def posted(watched, page, address, status, **fields):
    """Send a form from a page, and return what is wrong with the page that follows."""
    assert watched.open(page) == []
    with watched.page.expect_navigation() as navigation:
        watched.page.evaluate(POST, [address, fields])
    assert navigation.value.status == status
    return watched.faults(status)


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_error_pages_fit_and_are_accessible(watch, site, viewer_site):
    watched = watch(site)
    for address, status in (
        ("/schedules/no.such", 404),
        ("/schedules/close.mont", 404),
        (f"/runs/{NO_RUN}", 404),
        ("/runs?outcome=x", 422),
        ("/calendar?month=x", 422),
    ):
        assert watched.open(address, status) == [], address
        assert watched.violations() == [], address
    assert posted(watched, "/", "/schedules/paris/run", 429, request="ui-" + "0" * 24) == []
    assert "1,000 runs were requested" in watched.page.inner_text("h1")
    assert watched.violations() == []
    watched = watch(viewer_site)
    assert posted(watched, "/", "/schedules/paris/run", 403, request="ui-" + "0" * 24) == []
    assert watched.violations() == []


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_calendar_with_rare_runs_and_clock_changes_fits(watch, site):
    watched = watch(site)
    for address in ("/calendar", "/calendar?month=2026-11"):
        assert watched.open(address) == [], address
        assert watched.violations() == [], address
    assert "11 more" in watched.page.inner_text("main")
    assert "Clocks go back in Europe/Berlin, Europe/Paris" in watched.page.inner_text("main")


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_overview_and_load_of_a_counted_store_fit(watch, site):
    """With a coming clock change, and with schedules that a window would spread."""
    watched = watch(site)
    for address, words in (("/", "Clocks go back in"), ("/load", "in the busiest minute of this hour now")):
        assert watched.open(address) == [], address
        assert watched.violations() == [], address
        assert words in watched.page.inner_text("main")


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_progress_of_a_bulk_action_fits(watch, site):
    watched = watch(site)
    fields = {"name": "paris", "request": "ui-" + "0" * 24, "note": "moving house"}
    assert posted(watched, "/", "/bulk/pause", 200, **fields) == []
    assert "/bulk/pause?" in watched.page.url
    assert watched.violations() == []


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with (
        providing(tmp_path_factory.mktemp("provider")) as issuer,
        serving_with_login(tmp_path_factory.mktemp("house"), issuer) as house,
    ):
        yield house


TENANT_PAGES = ("", "schedules", "runs", "load", "calendar", "activity", "account", "schedules/acme-own/edit")


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_pages_of_a_tenant_and_of_the_login_fit(browser, house, width, theme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    assert page.goto(f"{house.address}/t/acme/").status == 401
    check_look(page)
    sign_in(page, "ana")
    page.wait_for_url(f"{house.address}/t/acme/")
    for path in TENANT_PAGES:
        assert page.goto(f"{house.address}/t/acme/{path}").status == 200, path
        check_look(page)
    assert page.goto(f"{house.address}/t/gamma/").status == 404
    check_look(page)
    context.close()
