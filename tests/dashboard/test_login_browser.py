"""Login, action and sign-out in a real browser, and the pages of the login at two widths."""

from urllib.parse import urlsplit

import pytest

from tests.dashboard.openid_provider import providing
from tests.dashboard.signing_in import serving_with_login
from tests.dashboard.test_browser import AXE, RULES, WATCH

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A service whose provider is another site: the cookies must survive the way there and back."""
    with providing(tmp_path_factory.mktemp("provider")) as issuer:
        assert urlsplit(issuer).hostname == "localhost"
        with serving_with_login(tmp_path_factory.mktemp("house"), issuer) as house:
            yield house


@pytest.fixture(params=[(1440, "light"), (390, "dark")], ids=str)
def page(request, browser):
    """A page of a browser without cookies, which notes what its policy forbids."""
    width, theme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    context.add_init_script(WATCH)
    yield context.new_page()
    context.close()


def sign_in(page, name):
    page.get_by_role("link", name="Sign in", exact=True).click()
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", name)
    page.get_by_role("button", name="Log in").click()


def check_look(page):
    """Check that a page fits, is accessible and does nothing that its policy forbids."""
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert page.evaluate("window.violations ?? []") == []
    page.evaluate(AXE)
    results = page.evaluate("rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES)
    assert [each["id"] for each in results["violations"]] == []


def test_person_signs_in_acts_switches_the_tenant_and_signs_out(house, page):
    page.goto(f"{house.address}/t/acme/schedules/acme-own/pause")
    check_look(page)
    sign_in(page, "ana")
    page.wait_for_url(f"{house.address}/t/acme/schedules/acme-own/pause")
    page.fill("input[name=note]", "moving house")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.wait_for_url(f"{house.address}/t/acme/schedules/acme-own")
    assert "ana@acme.example" in page.inner_text("main")
    page.goto(f"{house.address}/t/acme/account")
    check_look(page)
    page.get_by_role("link", name="beta").last.click()
    page.wait_for_url(f"{house.address}/t/beta/")
    page.goto(f"{house.address}/t/beta/account")
    page.locator("main").get_by_role("button", name="Sign out").click()
    page.wait_for_url("http://localhost:*/o/logout/**")
    page.get_by_role("button", name="Logout").click()
    page.wait_for_url(f"{house.address}/signed-out**")
    check_look(page)
    assert page.goto(f"{house.address}/t/acme/").status == 401
    page.get_by_role("link", name="Sign in", exact=True).click()
    assert page.locator("input[name=password]").count() == 1


def test_person_without_a_role_sees_who_they_are(house, page):
    page.goto(f"{house.address}/t/acme/")
    sign_in(page, "nora")
    assert "nora@acme.example" in page.inner_text("h1")
    check_look(page)


def test_error_page_of_another_tenant_fits(house, page):
    page.goto(f"{house.address}/t/acme/")
    sign_in(page, "vic")
    page.wait_for_url(f"{house.address}/t/acme/")
    assert page.goto(f"{house.address}/t/beta/").status == 404
    check_look(page)
