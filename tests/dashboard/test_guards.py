"""Every route of the dashboard is guarded: by the machine, the role, the tenant, the site and the token of a form."""

import asyncio

import pytest
from starlette.requests import Request

from kron.apps.dashboard.access import Role, Viewer, allowed_by
from kron.apps.dashboard.app import page_routes
from kron.apps.dashboard.security_headers import POLICY
from kron.engine.clock import SystemClock
from kron.stores.memory import MemoryStore
from tests.dashboard.served import dashboard_of, served

FORMS = [route.path for route in page_routes() if "POST" in route.methods and route.endpoint.role is not None]
PAGES = [route.path for route in page_routes() if "GET" in route.methods and route.endpoint.role is not None]


def a_store():
    return MemoryStore(SystemClock())


@pytest.fixture(scope="module")
def site():
    with served(dashboard_of(a_store())) as site:
        yield site


def filled(path):
    return path.replace("{name}", "a").replace("{key}", "0" * 64)


def test_every_response_carries_the_policy_and_no_page_is_kept(site):
    for path in ("/", "/static/x/kron.css", "/nowhere"):
        reply = site.get(path)
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["cache-control"] == "no-store"


def test_files_are_kept_forever_under_the_digest_of_their_content(site):
    address = site.get("/").text.split('rel="stylesheet" href="')[1].partition('"')[0]
    assert "immutable" in site.get(address).headers["cache-control"]
    assert site.get("/static/x/../app.py").status == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
@pytest.mark.parametrize("path", PAGES)
def test_page_under_a_foreign_name_is_refused(site, host, path):
    """A name of another site that leads to this machine (DNS rebinding)."""
    assert site.get(filled(path), Host=host or " ").status in (400, 401)


@pytest.mark.parametrize("path", FORMS)
def test_viewer_may_send_no_form(path):
    with served(dashboard_of(a_store(), Role.VIEWER)) as site:
        assert site.send(filled(path)).status == 403


@pytest.mark.parametrize("path", [*FORMS, "/zone"])
def test_form_of_another_site_or_without_a_token_is_refused(site, path):
    with served(dashboard_of(a_store())) as other:
        foreign_token = other.token()
    for token in ("", "0" * 64, foreign_token):
        assert site.send(filled(path), {"zone": "UTC"}, token=token).status == 403
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert site.send(filled(path), {"zone": "UTC"}, **headers).status == 403
    without_cookie = type(site)(site.port)
    assert without_cookie.send(filled(path), {"zone": "UTC"}, token=site.token()).status == 403


@pytest.mark.parametrize("path", PAGES)
def test_page_of_another_tenant_does_not_exist(path):
    async def access(request):
        return Viewer("ana", Role.OPERATOR, tenants=("acme",))

    with served(dashboard_of(a_store(), access=access)) as site:
        assert site.get("/t/other" + filled(path)).status == 404
        assert site.get(filled(path)).status == 404


def test_application_decides_who_may_do_what():
    async def later(request):
        return "operator"

    for allow, role in ((lambda request: None, None), (lambda request: "viewer", Role.VIEWER), (later, Role.OPERATOR)):
        viewer = asyncio.run(allowed_by(allow)(Request({"type": "http", "headers": []})))
        assert (viewer and viewer.role) == role


@pytest.mark.parametrize(("zone", "shown"), [("Europe/Paris", "Europe/Paris"), ("Nowhere/Land", None)])
def test_viewer_chooses_the_zone_of_all_times(zone, shown):
    with served(dashboard_of(a_store())) as site:
        reply = site.send("/zone", {"zone": zone}, Referer=f"{site.address}/?x=1")
        if shown is None:
            assert (reply.status, "There is no time zone" in reply.text) == (422, True)
        else:
            assert (reply.status, reply.headers["location"]) == (303, "/?x=1")
            assert f'data-zone="{shown}"' in site.get("/").text


@pytest.mark.parametrize("referrer", ["http://evil.example/x", "//evil.example", "http://127.0.0.1//evil.example/"])
def test_form_never_leads_to_another_site(site, referrer):
    reply = site.send("/zone", {"zone": "UTC"}, Referer=referrer.replace("127.0.0.1", f"127.0.0.1:{site.port}"))
    location = reply.headers["location"]
    assert location.startswith("/") and not location.startswith("//")
