"""Login with a real OpenID Connect provider: the code flow, the session, the roles, the tenants and the way out."""

import json
import re
from urllib.parse import quote, urlsplit

import pytest

from kron.apps.dashboard import route as dashboard_route
from kron.apps.dashboard.app import page_routes
from kron.apps.dashboard.links import Links
from kron.apps.service.login.session import SESSION_SECONDS
from kron.stores.postgres.migrate import migrate
from tests.dashboard.openid_provider import CLIENT_SECRET, CONFIDENTIAL_CLIENT, providing
from tests.dashboard.served import ask
from tests.dashboard.signing_in import OTHER_KEY, SESSION_KEY, Browser, serving_with_login, session_of

pytestmark = pytest.mark.timeout(300)
PAGES = [each.path for each in page_routes() if "GET" in each.methods]
FORMS = [each.path for each in page_routes() if "POST" in each.methods]
ACTIONS = [each.path for each in page_routes() if "POST" in each.methods and each.endpoint.role is not None]


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    with providing(tmp_path_factory.mktemp("provider")) as issuer:
        yield issuer


@pytest.fixture(scope="module")
def house(issuer, tmp_path_factory):
    """A service with tenants, over the store in memory."""
    folder = tmp_path_factory.mktemp("house")
    with serving_with_login(folder, issuer, audit_log=str(folder / "audit.log"), max_triggers_per_minute=3) as house:
        house.audit = folder / "audit.log"
        yield house


@pytest.fixture
def ana(house):
    """The browser of an operator of two tenants, who has signed in."""
    browser = Browser()
    house.sign_in(browser, "ana")
    return browser


@pytest.fixture
def vic(house):
    """The browser of a viewer, who has signed in."""
    browser = Browser()
    house.sign_in(browser, "vic")
    return browser


def filled(path, tenant="acme"):
    return path.replace("{name}", f"{tenant}-own").replace("{key}", "0" * 64)


def test_person_signs_in_and_sees_the_page_that_was_asked_for(house):
    browser = Browser()
    reply = browser.get(f"{house.address}/t/acme/schedules?q=acme")
    assert (reply.status, "You are not signed in" in reply.text) == (401, True)
    link = f"/ui/login?next={quote('/ui/t/acme/schedules?q=acme', safe='')}"
    assert f'href="{link}"' in reply.text
    page = house.sign_in(browser, "ana", "/ui/t/acme/schedules?q=acme")
    assert (page.status, page.url) == (200, f"{house.address}/t/acme/schedules?q=acme")
    assert "ana@acme.example" in page.text and "acme-own" in page.text and "beta-own" not in page.text


def test_address_without_a_slash_leads_to_the_dashboard(house, ana):
    reply = Browser().get(house.address, follow=False)
    assert (reply.status, reply.location) == (303, "/ui/")
    assert ana.get(house.address).url == f"{house.address}/t/acme/"


def test_first_page_after_the_login_is_that_of_the_first_tenant(house, ana):
    assert ana.get(f"{house.address}/").url == f"{house.address}/t/acme/"
    assert house.sign_in(Browser(), "olaf").url == f"{house.address}/t/beta/"


def test_browser_keeps_a_session_for_8_hours_and_no_token_of_the_provider(house):
    browser = Browser()
    house.sign_in(browser, "ana")
    session = session_of(house, browser)
    assert set(session) == {"id", "name", "role", "tenants", "expires"}
    assert (session["name"], session["role"], session["tenants"]) == ("ana@acme.example", "operator", ["acme", "beta"])
    assert session["expires"] - house.sessions.clock.now() == pytest.approx(SESSION_SECONDS, abs=30)
    assert SESSION_SECONDS == 8 * 3600
    assert "kron-login" not in browser.cookies[house.host]


def test_cookies_are_hidden_from_scripts_and_from_forms_of_other_sites(house):
    browser = Browser()
    (pending,) = browser.get(f"{house.address}/login", follow=False).set_cookies
    assert "; HttpOnly" in pending and "; SameSite=lax" in pending and "; Path=/" in pending
    assert "Domain" not in pending


def test_confidential_client_sends_its_secret(issuer, tmp_path):
    more = {"ui_client_id": CONFIDENTIAL_CLIENT, "ui_client_secret": CLIENT_SECRET}
    with serving_with_login(tmp_path, issuer, **more) as house:
        assert house.sign_in(Browser(), "ana").status == 200
    with serving_with_login(tmp_path, issuer, **{**more, "ui_client_secret": "wrong"}) as house:
        reply = house.sign_in(Browser(), "ana")
        assert (reply.status, "The identity provider refused the code: invalid_client" in reply.text) == (403, True)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_open_without_a_session(house, path):
    for prefix in ("", "/t/acme"):
        reply = Browser().get(house.address + prefix + filled(path), follow=False)
        assert reply.status == 401
        assert "canary-acme" not in reply.text


@pytest.mark.parametrize("path", FORMS)
def test_no_form_is_taken_without_a_session(house, path):
    for prefix in ("", "/t/acme"):
        assert Browser().post(house.address + prefix + filled(path), {"zone": "UTC"}).status == 401


@pytest.mark.parametrize("path", ACTIONS)
def test_viewer_may_not_act_and_the_operator_may(house, vic, ana, path):
    fields = {"request": "ui-" + "0" * 24, "from": "2026-01-01T00:00", "to": "2026-01-01T01:00"}
    assert house.send(vic, "/t/acme" + filled(path), fields).status == 403
    assert house.send(ana, "/t/acme" + filled(path), fields).status != 403


def test_viewer_sees_all_pages_of_the_own_tenant(house, vic):
    assert vic.get(f"{house.address}/t/acme/").status == 200
    assert "vic@acme.example" in vic.get(f"{house.address}/t/acme/account").text


@pytest.mark.parametrize("path", [*PAGES, *FORMS])
def test_address_of_another_tenant_does_not_exist(house, vic, path):
    """Neither for a page nor for a form, and no matter whether the tenant exists."""
    for prefix in ("/t/beta", "/t/gamma", "/t/acme%2F", "/t/*"):
        address = house.address + prefix + filled(path, "beta")
        reply = vic.get(address, follow=False) if path in PAGES else None
        forms = [house.send(vic, prefix + filled(path, "beta"))] if path in FORMS else []
        for each in [*([reply] if reply else []), *forms]:
            assert each.status == 404
            assert "canary-beta" not in each.text


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/"])
def test_page_without_a_tenant_does_not_exist(house, ana, path):
    reply = ana.get(house.address + filled(path), follow=False)
    assert reply.status == 404
    assert 'href="/ui/t/beta/"' in reply.text  # the way to the own tenants
    assert 'href="/ui/schedules"' not in reply.text


def test_every_link_of_a_page_stays_in_its_tenant(house, ana):
    for path in ("/", "/schedules", "/schedules/acme-own", "/account"):
        text = ana.get(f"{house.address}/t/acme{path}").text
        links = [part.partition('"')[0] for part in text.replace('action="', 'href="').split('href="')[1:]]
        own = [link for link in links if link.startswith("/ui/") and not link.startswith("/ui/static/")]
        assert own and {link.partition("?")[0] for link in own if not link.startswith("/ui/t/acme/")} <= {
            "/ui/logout",
            "/ui/t/beta/",
        }


def test_tenant_switch_lists_the_tenants_of_the_person(house, ana, vic):
    page = ana.get(f"{house.address}/t/beta/account").text
    assert 'href="/ui/t/acme/"' in page
    assert '<a href="/ui/t/beta/" aria-current="true">' in page
    assert 'href="/ui/t/beta/"' not in vic.get(f"{house.address}/t/acme/account").text
    assert 'aria-label="Tenant: beta. Switch tenant"' in page


@pytest.fixture(scope="module")
def careless_house(issuer, server, tmp_path_factory):
    """A service on PostgreSQL whose pages forget the tenant after its scope is set: all names are those of acme."""
    if not server.sql("SELECT 1 FROM pg_roles WHERE rolname = 'kron_api'"):
        server.sql("CREATE ROLE kron_api LOGIN")
    name = server.empty()
    ask(migrate(server.url(name)))
    store = server.url(name, "kron_api")
    with serving_with_login(tmp_path_factory.mktemp("careless"), issuer, store=store) as house:
        yield house
    server.drop(name)


@pytest.mark.parametrize("path", [path for path in PAGES if path not in ("/stream", "/changes")])
def test_database_shows_nothing_of_another_tenant_to_a_careless_page(careless_house, monkeypatch, path):
    house, browser = careless_house, Browser()
    house.sign_in(browser, "olaf")
    is_careless, real_scope, real_prefix = [], dashboard_route.set_tenant_scope, Links.prefix.fget

    def scope(prefix):
        real_scope(prefix)
        is_careless.append(True)

    monkeypatch.setattr(dashboard_route, "set_tenant_scope", scope)
    monkeypatch.setattr(Links, "prefix", property(lambda self: "acme/" if is_careless else real_prefix(self)))
    reply = browser.get(f"{house.address}/t/beta{filled(path)}", follow=False)
    assert is_careless
    main = reply.text.partition("<main")[2]
    assert "canary-acme" not in main
    assert "{name}" in path or "acme-own" not in main
    assert reply.status == (404 if "{" in path else 200)


def test_careful_page_of_the_same_database_shows_the_own_schedules(careless_house):
    browser = Browser()
    page = careless_house.sign_in(browser, "olaf", "/ui/t/beta/schedules")
    assert "beta-own" in page.text and "acme-own" not in page.text
    assert browser.get(f"{careless_house.address}/t/beta/schedules/beta-own").status == 200


def test_person_without_a_role_is_told_which_claim_is_missing(house):
    browser = Browser()
    reply = house.sign_in(browser, "nora")
    assert reply.status == 403
    assert "You are nora@acme.example, and have no role" in reply.text
    assert "The claim scope of the ID token must contain schedules:read; it has openid, profile" in reply.text
    assert "Sign in as another person" in reply.text
    assert session_of(house, browser) is None
    assert house.sign_in(browser, "ana", "/ui/t/acme/").status == 403  # the provider still knows nora
    form = browser.get(f"{house.address}/login?other=1")
    assert "csrfmiddlewaretoken" in form.text  # it asks who the person is


def test_person_without_a_tenant_is_told_which_claim_is_missing(house):
    reply = house.sign_in(Browser(), "tom")
    assert reply.status == 403
    assert "You are tom@acme.example, and belong to no tenant" in reply.text
    assert "The claim tenant of the ID token" in reply.text


def test_groups_of_the_provider_can_give_the_roles(issuer, tmp_path):
    groups = {"ui_role_claim": "groups", "ui_viewer_values": ("kron-viewers",)}
    with serving_with_login(tmp_path, issuer, **groups, ui_operator_values=("kron-operators",)) as house:
        browser = Browser()
        assert house.sign_in(browser, "grit").status == 200
        assert session_of(house, browser)["role"] == "operator"
        assert house.sign_in(Browser(), "ana").status == 403


def test_code_gives_one_session(house):
    """A code that is sent again is refused by the provider, and the browser has kept no login for it."""
    browser = Browser()
    house.sign_in(browser, "ana")
    begun = browser.get(f"{house.address}/login", follow=False)
    pending = dict(browser.cookies[house.host])
    back = browser.get(begun.location, follow=False).location
    assert urlsplit(back).path == "/ui/callback"
    assert browser.get(back, follow=False).status == 303
    assert browser.get(back, follow=False).status == 403  # the login has ended
    browser.cookies[house.host] = pending
    reply = browser.get(back, follow=False)
    assert (reply.status, "The identity provider refused the code: invalid_grant" in reply.text) == (403, True)


def test_answer_to_a_login_of_another_browser_is_refused(house):
    """A person who is led to the answer to an attacker's login does not get the attacker's session."""
    attacker, person = Browser(), Browser()
    house.sign_in(attacker, "ana")
    begun = attacker.get(f"{house.address}/login", follow=False)
    back = attacker.get(begun.location, follow=False).location
    house.begun(person)
    for browser in (person, Browser()):
        reply = browser.get(back, follow=False)
        assert reply.status == 403
        assert session_of(house, browser) is None


def test_provider_refuses_a_code_without_its_verifier(house, ana):
    begun = ana.get(f"{house.address}/login", follow=False)
    back = ana.get(begun.location, follow=False).location
    pages = house.api.app.state.parts.login.pages
    facts = pages.pending.opened(ana.cookies[house.host]["kron-login"])
    ana.cookies[house.host]["kron-login"] = pages.pending.sealed({**facts, "verifier": "v" * 43})
    assert ana.get(back, follow=False).status == 403


def test_session_begins_anew_with_each_login(house):
    browser = Browser()
    house.sign_in(browser, "ana")
    first, token = session_of(house, browser), house.form_token(browser, "/t/acme/")
    house.sign_in(browser, "ana")
    assert session_of(house, browser)["id"] != first["id"]
    reply = browser.post(f"{house.address}/t/acme/schedules/acme-own/pause", {"form_token": token}, follow=False)
    assert reply.status == 403


def test_changed_cookie_is_no_session(house, ana):
    jar, name = ana.cookies[house.host], house.sessions.cookie.name
    text = jar[name]
    for place in range(0, len(text), 7):
        jar[name] = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        assert ana.get(f"{house.address}/t/acme/").status == 401, place
    for other in ("", "x", text[:-4], text * 20, json.dumps({"name": "ana", "role": "operator"})):
        jar[name] = quote(other)
        assert ana.get(f"{house.address}/t/acme/").status == 401, other
    jar[name] = text
    assert ana.get(f"{house.address}/t/acme/").status == 200


def test_cookie_of_another_key_or_another_purpose_is_no_session(house, issuer, tmp_path, ana):
    value = session_of(house, ana)
    jar, name = ana.cookies[house.host], house.sessions.cookie.name
    with serving_with_login(tmp_path, issuer, ui_session_key=OTHER_KEY) as other:
        jar[name] = other.sessions.cookie.sealed(value)
        assert ana.get(f"{house.address}/t/acme/").status == 401
        assert ana.get(f"{other.address}/t/acme/").status == 200
    jar[name] = house.api.app.state.parts.login.pages.pending.sealed(value)
    assert ana.get(f"{house.address}/t/acme/").status == 401


def test_session_of_an_older_key_is_valid_during_a_rotation(house, issuer, tmp_path, ana):
    with serving_with_login(tmp_path, issuer, ui_session_key=f"{OTHER_KEY} {SESSION_KEY}") as other:
        assert ana.get(f"{other.address}/t/acme/").status == 200


def test_session_ends_after_8_hours_whatever_the_browser_does(house, ana):
    cookie, value = house.sessions.cookie, session_of(house, ana)
    now = int(house.sessions.clock.now())
    for expires, status in ((now + 60, 200), (now - 1, 401)):
        ana.cookies[house.host][cookie.name] = cookie.sealed({**value, "expires": expires})
        assert ana.get(f"{house.address}/t/acme/").status == status
    assert ana.get(f"{house.address}/t/acme/").set_cookies == []  # a visit does not prolong it


def test_login_that_took_too_long_is_refused(house):
    browser = Browser()
    house.begun(browser)
    pending = house.api.app.state.parts.login.pages.pending
    facts = pending.opened(browser.cookies[house.host][pending.name])
    old = {**facts, "expires": int(house.sessions.clock.now()) - 1}
    browser.cookies[house.host][pending.name] = pending.sealed(old)
    reply = house.answer(browser, state=facts["state"], code="x")
    assert (reply.status, "more than 10 minutes ago" in reply.text) == (403, True)


def test_sign_out_ends_the_session_here_and_at_the_provider(house):
    browser = Browser()
    house.sign_in(browser, "ana")
    copy = dict(browser.cookies[house.host])
    page = house.send(browser, "/logout", follow=True)
    assert page.url == f"{house.address}/leaving"
    assert house.sessions.cookie.name not in browser.cookies[house.host]
    thief = Browser({house.host: copy})
    assert thief.get(f"{house.address}/t/acme/").status == 401  # a copy of the cookie is worth nothing
    address = page.text.partition('content="0;url=')[2].partition('"')[0].replace("&amp;", "&")
    confirm = browser.get(address)
    assert "Confirm Logout requested by kron" in confirm.text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', confirm.text))
    end = browser.post(confirm.url, {**hidden, "allow": "Logout"}, Referer=confirm.url)
    assert (end.url.partition("?")[0], "You are signed out" in end.text) == (f"{house.address}/signed-out", True)
    assert "csrfmiddlewaretoken" in browser.get(f"{house.address}/login").text  # the provider asks for the password


def test_sign_out_needs_the_token_of_the_page(house, ana):
    for token in ("", "0" * 64):
        assert ana.post(f"{house.address}/logout", {"form_token": token}, follow=False).status == 403
    foreign = {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}
    for headers in foreign:
        assert house.send(ana, "/logout", **headers).status == 403
    assert ana.get(f"{house.address}/logout", follow=False).status == 405
    assert ana.get(f"{house.address}/leaving").url == f"{house.address}/t/acme/"
    assert ana.get(f"{house.address}/t/acme/").status == 200


@pytest.mark.parametrize("path", [*FORMS, "/logout"])
def test_form_of_another_session_or_another_site_is_refused(house, ana, path):
    address = path if path == "/logout" else "/t/acme" + filled(path)
    other = Browser()
    house.sign_in(other, "ana")
    token = house.form_token(other, "/t/acme/")
    assert ana.post(house.address + address, {"form_token": token, "zone": "UTC"}, follow=False).status == 403
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert house.send(ana, address, {"zone": "UTC"}, **headers).status == 403
    assert ana.get(f"{house.address}/t/acme/").status == 200


def test_zone_can_be_chosen_with_a_session(house, ana):
    assert house.send(ana, "/t/acme/zone", {"zone": "Europe/Paris"}).status == 303
    assert 'data-zone="Europe/Paris"' in ana.get(f"{house.address}/t/acme/").text


def test_action_records_the_person_in_the_history_and_in_the_audit_log(house, ana, vic):
    assert house.send(ana, "/t/acme/schedules/acme-own/pause", {"note": "moving house"}).status == 303
    assert "ana@acme.example" in ana.get(f"{house.address}/t/acme/activity").text
    assert house.send(vic, "/t/acme/schedules/acme-own/resume").status == 403
    assert house.send(ana, "/t/acme/schedules/acme-own/resume").status == 303
    lines = [json.loads(line) for line in house.audit.read_text().splitlines()]
    intents = [line for line in lines if line.get("who") == "ana@acme.example" and line["kind"] == "intent"]
    pauses = [line for line in intents if line["path"].endswith("/pause")]
    assert (pauses[-1]["tenant"], pauses[-1]["asked"]) == ("acme", {"note": "moving house"})
    assert {"kind": "result", "intent": pauses[-1]["n"], "status": 303}.items() <= lines[pauses[-1]["n"]].items()
    refused = [line for line in lines if line.get("who") == "vic@acme.example" and line["kind"] == "refused"]
    assert refused[-1]["status"] == 403 and refused[-1]["path"].endswith("/resume")
    assert "form_token" not in house.audit.read_text()


def asked_of(house, path):
    """Return what the latest recorded request to an address asked for, and the statuses of refused ones."""
    lines = [json.loads(line) for line in house.audit.read_text().splitlines()]
    own = [line for line in lines if line.get("path", "").endswith(path)]
    return [line["asked"] for line in own if line["kind"] == "intent"][-1:], [
        line["status"] for line in own if line["kind"] == "refused"
    ]


def test_audit_log_has_the_names_of_a_bulk_action(house, ana):
    names = [f"absent-{number:03d}" for number in range(130)]
    fields = {"request": "ui-" + "0" * 24, "note": "move"}
    body = [*fields.items(), *(("name", name) for name in names)]
    token = house.form_token(ana, "/t/acme/")
    assert ana.post(f"{house.address}/t/acme/bulk/pause", [("form_token", token), *body], False).status == 303
    ((asked,), _) = asked_of(house, "/bulk/pause")
    assert (asked["name"]["count"], asked["name"]["first"]) == (130, names[:100])
    assert (asked["note"], asked["request"]) == ("move", "ui-" + "0" * 24)


def test_form_cannot_hide_its_fields_behind_others(house, ana):
    junk = {f"a{number:03d}": "x" for number in range(100)}
    reply = house.send(ana, "/t/acme/schedules/acme-own/resume", {**junk, "note": "hidden"})
    assert reply.status == 422
    _, refused = asked_of(house, "/acme-own/resume")
    assert refused[-1] == 422
    fewer = dict(list(junk.items())[:38])  # with the token and the note, as many names as a form may have
    assert house.send(ana, "/t/acme/schedules/acme-own/resume", {**fewer, "note": "hidden"}).status == 303
    ((asked,), _) = asked_of(house, "/acme-own/resume")
    assert asked["note"] == "hidden"


def test_manual_runs_have_the_quota_of_the_api(house):
    browser = Browser()
    house.sign_in(browser, "olaf")
    statuses = [
        house.send(browser, "/t/beta/schedules/beta-own/run", {"request": f"ui-{number:024x}"}, page="/t/beta/").status
        for number in range(5)
    ]
    assert statuses == [303, 303, 303, 429, 429]


def test_service_without_tenants_has_no_tenant_in_its_addresses(issuer, tmp_path):
    with serving_with_login(tmp_path, issuer, tenant_claim="") as house:
        browser = Browser()
        assert house.sign_in(browser, "ana").url == f"{house.address}/"
        assert session_of(house, browser)["tenants"] is None
        assert browser.get(f"{house.address}/schedules").status == 200
        assert browser.get(f"{house.address}/t/acme/schedules").status == 404


def test_api_needs_a_token_also_from_a_browser_with_a_session(house, ana):
    api = house.address.removesuffix("/ui")
    assert ana.get(f"{api}/v1/schedules").status == 401
