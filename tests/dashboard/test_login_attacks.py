"""Login against a provider that lies, fails or is silent, and addresses that lead elsewhere."""

import base64
import hashlib
import hmac
import json
import time
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.access import Role
from kron.apps.service.auth.fetch import MAX_DOCUMENT_BYTES
from kron.apps.service.config import Config
from kron.apps.service.login.own_path import own_path
from kron.apps.service.login.person import person_of
from kron.errors import AccessDenied
from tests.dashboard.forging_provider import forging
from tests.dashboard.signing_in import Browser, serving_with_login, session_of
from tests.service.tokens import KEYS, STRANGERS, pem, public, raw, resigned

pytestmark = pytest.mark.timeout(120)
KNOWN = {"alg": "RS256", "typ": "JWT", "kid": "k-RS256"}


@pytest.fixture(scope="module")
def running():
    with forging() as forger:
        yield forger


@pytest.fixture
def forger(running):
    """The provider, honest again."""
    running.claims, running.id_token, running.answers, running.nonce = {}, None, {}, ""
    running.requests.clear()
    return running


@pytest.fixture(scope="module")
def house(running, tmp_path_factory):
    with serving_with_login(tmp_path_factory.mktemp("house"), running.issuer) as house:
        yield house


def signed_in(house, forger, browser=None, **query):
    """Begin a login and end it with what the forger sends."""
    browser = browser or Browser()
    begun = house.begun(browser)
    forger.nonce = begun["nonce"]
    reply = house.answer(browser, **{"code": "c", "state": begun["state"], **query})
    return browser, reply


def test_honest_provider_gives_a_session(house, forger):
    browser, reply = signed_in(house, forger)
    assert (reply.status, reply.location) == (303, "/ui/t/acme/")
    assert session_of(house, browser)["name"] == "eve@acme.example"
    form = parse_qs(forger.requests[-1])
    assert (
        form["grant_type"] == ["authorization_code"] and form["code"] == ["c"] and len(form["code_verifier"][0]) >= 43
    )


def test_request_of_a_login_carries_new_secrets_and_a_challenge(house, forger):
    first, second = house.begun(Browser()), house.begun(Browser())
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) >= 43 and first[name] != second[name]
    assert (first["code_challenge_method"], first["response_type"]) == ("S256", "code")
    assert first["redirect_uri"] == f"{house.address}/callback"


LIES = {
    "another nonce": {"nonce": "x" * 43},
    "no nonce": {"nonce": ...},
    "an empty nonce": {"nonce": ""},
    "another issuer": {"iss": "https://attacker.example"},
    "no issuer": {"iss": ...},
    "another client": {"aud": "other"},
    "no client": {"aud": ...},
    "two clients and none that it is for": {"aud": ["kron", "other"]},
    "two clients, for the other one": {"aud": ["kron", "other"], "azp": "other"},
    "a foreign authorized party": {"azp": "other"},
    "no end": {"exp": ...},
    "an end in the past": {"exp": int(time.time()) - 60},
    "a beginning in the future": {"iat": int(time.time()) + 3000, "exp": int(time.time()) + 4000},
    "a name with a line feed": {"email": "a\nb"},
    "no name": {"email": ...},
    "a name that is too long": {"email": "x" * 201},
    "a tenant with a slash": {"tenant": "acme/x"},
    "every tenant": {"tenant": "*"},
    "a list with a bad tenant": {"tenant": ["acme", ""]},
    "a tenant that is a number": {"tenant": 7},
    "scopes that are a number": {"scope": 7},
    "scopes of no role": {"scope": "schedules:write schedules:run"},
    "part of a scope": {"scope": "schedules:reader xschedules:read"},
}


@pytest.mark.parametrize("lie", LIES)
def test_id_token_with_a_wrong_claim_gives_no_session(house, forger, lie):
    forger.claims = LIES[lie]
    browser, reply = signed_in(house, forger)
    assert reply.status == 403
    assert session_of(house, browser) is None


def forged_tokens(claims):
    """Return ID tokens that no key of the provider signed as it must, by what is wrong with them."""
    body = {"iat": int(time.time()), "exp": int(time.time()) + 600, **claims}
    good = jwt.encode(body, KEYS["RS256"], "RS256", {"kid": "k-RS256"})
    head, payload, signature = good.split(".")
    other = jwt.encode({**body, "scope": "schedules:read schedules:write schedules:run"}, "x" * 32, "HS256")
    hs256 = raw({**KNOWN, "alg": "HS256"}, body, b"").rstrip(".")
    return {
        "no algorithm": raw({**KNOWN, "alg": "none"}, body, b""),
        "no algorithm, with a signature": raw({**KNOWN, "alg": "none"}, body),
        "the public key as a secret": secret_with(pem(KEYS["RS256"]), hs256),
        "the client id as a secret": secret_with(b"kron", hs256),
        "a stranger's key": jwt.encode(body, STRANGERS["RS256"], "RS256", {"kid": "k-RS256"}),
        "its own key": jwt.encode(
            body, STRANGERS["RS256"], "RS256", {"kid": "k-RS256", "jwk": public("RS256", STRANGERS["RS256"])}
        ),
        "an unknown key": jwt.encode(body, KEYS["RS256"], "RS256", {"kid": "k-other"}),
        "no key": jwt.encode(body, KEYS["RS256"], "RS256"),
        "another algorithm of the key": jwt.encode(body, KEYS["RS256"], "RS512", {"kid": "k-RS256"}),
        "another body": f"{head}.{other.split('.')[1]}.{signature}",
        "no signature": f"{head}.{payload}.",
        "an access token": jwt.encode(body, KEYS["RS256"], "RS256", {"kid": "k-RS256", "typ": "at+jwt"}),
        "a critical extension": jwt.encode(body, KEYS["RS256"], "RS256", {"kid": "k-RS256", "crit": ["x"]}),
        "a claim twice": resigned(KNOWN, json.dumps(body).encode()[:-1] + b', "tenant": "beta"}', "RS256"),
        "a list": resigned(KNOWN, b"[]", "RS256"),
        "a number": 7,
        "nothing": "",
        "a very long text": "A" * 20_000,
    }


def secret_with(secret, text):
    signature = hmac.digest(secret, text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.mark.parametrize("forgery", forged_tokens({}))
def test_forged_id_token_gives_no_session(house, forger, forgery):
    browser = Browser()
    begun = house.begun(browser)
    forger.nonce = begun["nonce"]
    forger.id_token = forged_tokens(forger.honest_claims())[forgery]
    reply = house.answer(browser, code="c", state=begun["state"])
    assert reply.status == 403
    assert session_of(house, browser) is None


def test_clock_that_differs_is_named_as_the_reason(house, forger):
    for times in ({"exp": int(time.time()) - 60}, {"iat": int(time.time()) + 90, "exp": int(time.time()) + 900}):
        forger.claims = times
        _, reply = signed_in(house, forger)
        assert "The clocks of this service and of the identity provider differ by more than 30 s" in reply.text
    forger.claims = {"iat": int(time.time()) + 15}
    assert signed_in(house, forger)[1].status == 303


@pytest.mark.parametrize("state", ["", "x", "0" * 43, None])
def test_answer_with_another_state_is_refused(house, forger, state):
    browser = Browser()
    begun = house.begun(browser)
    forger.nonce = begun["nonce"]
    reply = house.answer(browser, code="c", **({} if state is None else {"state": state}))
    assert (reply.status, forger.requests) == (403, [])  # and the code is not even exchanged
    assert session_of(house, browser) is None


def test_answer_of_another_provider_is_refused(house, forger):
    _, reply = signed_in(house, forger, iss="https://attacker.example")
    assert (reply.status, forger.requests) == (403, [])
    assert signed_in(house, forger, iss=forger.issuer)[1].status == 303


def test_answer_without_a_code_is_refused(house, forger):
    assert signed_in(house, forger, code="")[1].status == 403
    assert signed_in(house, forger, code="x" * 2001)[1].status == 403
    assert forger.requests == []


def test_reason_of_the_provider_is_shown_as_text(house, forger):
    answer = {"error": "access_denied", "error_description": "<script>alert(1)</script> not on the list"}
    _, reply = signed_in(house, forger, **answer)
    assert reply.status == 403
    assert "refused: access_denied: &lt;script&gt;alert(1)&lt;/script&gt; not on the list" in reply.text


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((500, "oops"), 503),
        ((200, "<html>"), 503),
        ((200, "[]"), 403),
        ((200, "{}"), 403),
        ((200, "[" * 5000), 503),
        ((400, '{"error": "invalid_grant"}'), 403),
        ((200, b'{"id_token": "' + b"x" * MAX_DOCUMENT_BYTES + b'"}'), 503),
    ],
)
def test_useless_answer_to_a_code_gives_no_session(house, forger, answer, status):
    forger.answers["/token"] = answer
    browser, reply = signed_in(house, forger)
    assert reply.status == status
    assert session_of(house, browser) is None
    if status == 503:
        assert f"The identity provider {forger.issuer} does not answer" in reply.text
        assert "The store does not answer" not in reply.text


def test_provider_that_is_away_is_named_on_the_page_and_the_api_answers(tmp_path):
    with serving_with_login(tmp_path, "http://127.0.0.1:9/o", waits=False) as house:
        reply = Browser().get(f"{house.address}/login", follow=False)
        assert reply.status == 503
        assert "The identity provider http://127.0.0.1:9/o does not answer" in reply.text
        assert house.api.get("/readyz").status == 200


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"issuer": "https://attacker.example"}, "of another issuer"),
        ({"token_endpoint": "http://attacker.example/token"}, "no usable token_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "no usable jwks_uri"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no usable authorization_endpoint"),
        ({"end_session_endpoint": "javascript:alert(1)"}, "no usable end_session_endpoint"),
    ],
)
def test_discovery_document_that_leads_elsewhere_is_refused(tmp_path, change, reason):
    with forging() as forger:
        forger.metadata = change
        with serving_with_login(tmp_path, forger.issuer, waits=False) as house:
            end = time.monotonic() + 10
            text = ""
            while reason not in text and time.monotonic() < end:
                reply = Browser().get(f"{house.address}/login", follow=False)
                text = reply.text
            assert (reply.status, reason in text) == (503, True)


def test_provider_without_a_page_to_sign_out_leads_to_our_own(house, forger):
    browser, _ = signed_in(house, forger)
    page = house.send(browser, "/logout", follow=True)
    assert (page.status, page.url) == (200, f"{house.address}/signed-out")
    assert session_of(house, browser) is None


def test_with_tls_the_cookies_belong_to_this_host_alone(tmp_path, forger):
    with serving_with_login(tmp_path, forger.issuer, ui_url="https://kron.example/ui") as house:
        browser = Browser()
        begun = house.begun(browser)
        forger.nonce = begun["nonce"]
        assert begun["redirect_uri"] == "https://kron.example/ui/callback"
        reply = house.answer(browser, code="c", state=begun["state"])
        (session,) = [text for text in reply.set_cookies if text.startswith("__Host-kron=")]
        attributes = set(session.split("; ")[1:])
        assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax", "Max-Age=28800"} <= attributes
        assert not any(each.startswith("Domain") for each in attributes)
        page = browser.get(f"{house.address}/t/acme/")
        assert page.status == 200
        assert all("Secure" in text for text in page.set_cookies)


def test_person_with_too_many_tenants_is_told_so(house, forger):
    forger.claims = {"tenant": [f"tenant-{number:040d}" for number in range(100)]}
    browser, reply = signed_in(house, forger)
    assert (reply.status, "have 100 tenants, which is too many" in reply.text) == (403, True)
    assert session_of(house, browser) is None


ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/ui/",
    "/\\evil.example/",
    "/ui//evil.example",
    "/ui/../v1/schedules",
    "/ui/%2e%2e/v1/schedules",
    "/ui/%252e%252e/v1/schedules",
    "/ui/..%2f..%2fv1",
    "/ui/..\\v1",
    "/uix/",
    "/v1/schedules",
    "ui/",
    "javascript:alert(1)",
    "/ui/\r\nSet-Cookie: a=b",
    "/ui/\tx",
    "/ui/" + "x" * 2000,
    "/ui/#//evil.example",
]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_login_leads_to_no_address_outside_the_dashboard(house, forger, address):
    browser = Browser()
    reply = browser.get(f"{house.address}/login?{urlencode({'next': address})}", follow=False)
    begun = {name: values[0] for name, values in parse_qs(urlsplit(reply.location).query).items()}
    forger.nonce = begun["nonce"]
    assert house.answer(browser, code="c", state=begun["state"]).location == "/ui/t/acme/"


@given(st.text(alphabet="/ui.%2e5cCfF\\?#:@evl\t\n ", max_size=30) | st.text(max_size=30))
def test_own_path_is_below_the_dashboard_however_a_browser_reads_it(text):
    for candidate in (text, f"/ui/{text}", f"/ui{text}"):
        address = own_path(candidate)
        read = address.replace("\\", "/").replace("\t", "").replace("\n", "").replace("\r", "")
        for spelled in ("%2e", "%2E"):
            read = read.replace(spelled, ".")
        resolved = urlsplit(urljoin("https://kron.example/ui/callback", read))
        assert (resolved.scheme, resolved.netloc) == ("https", "kron.example")
        assert resolved.path.startswith("/ui/")


@given(st.lists(st.sampled_from(["t", "acme", "schedules", "a%252Fb", "x-1", "~y"]), max_size=4), st.text(max_size=10))
def test_own_path_keeps_addresses_of_the_dashboard(segments, query):
    address = "/ui/" + "/".join(segments) + f"?q={quote(query, safe='')}"
    assert own_path(address) == address


VALUES = ["schedules:read", "schedules:write", "schedules:run", "other"]


@given(st.sets(st.sampled_from(VALUES)), st.booleans(), st.sampled_from(["scope", "scp"]))
def test_role_needs_all_of_its_values(values, is_list, claim):
    claims = {"sub": "eve", claim: sorted(values) if is_list else " ".join(sorted(values))}
    expected = None
    if "schedules:read" in values:
        expected = Role.OPERATOR if {"schedules:write", "schedules:run"} <= values else Role.VIEWER
    if expected:
        assert person_of(claims, Config()).role is expected
    else:
        with pytest.raises(AccessDenied):
            person_of(claims, Config())
