"""A seeded store, its dashboard over the wire, and a browser."""

from pathlib import Path

import pytest

from tests.dashboard.seeded import seeded_memory, seeded_sqlite
from tests.dashboard.served import dashboard_of, served

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="session")
def seeded():
    """The seeded store, in memory. Tests only read it."""
    return seeded_memory()


@pytest.fixture(scope="session")
def seeded_file(tmp_path_factory):
    """The seeded store, in an SQLite file. Tests only read it."""
    return seeded_sqlite(tmp_path_factory.mktemp("seeded") / "kron.db")


@pytest.fixture(scope="session")
def seeded_site(seeded):
    """The dashboard of the seeded store, for all tests."""
    with served(dashboard_of(seeded)) as site:
        yield site


@pytest.fixture
def site(seeded_site):
    """The dashboard of the seeded store, as a new browser in Paris sees it."""
    return type(seeded_site)(seeded_site.port, {"kron_zone": "Europe/Paris"})


@pytest.fixture(scope="session")
def browser():
    """Chromium, one for each process of pytest that asks for it."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    """A page of a browser in Paris, without cookies."""
    context = browser.new_context(timezone_id="Europe/Paris")
    yield context.new_page()
    context.close()
