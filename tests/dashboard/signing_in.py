"""A service whose dashboard needs a login, and a browser without scripts that signs in over the wire."""

import http.client
import re
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from tests.postgres import free_port
from tests.service.http import serving, until
from tests.service.tokens import settings, token

SESSION_KEY = "whsec_" + "c2Vzc2lvbnMgYXJlIHNlYWxlZCB3aXRoIHRoaXMga2V5"
OTHER_KEY = "whsec_" + "YW5vdGhlciBrZXkgdGhhdCBzZWFscyBubyBzZXNzaW9u"
DEFINITION = {"schedule": "0 9 * * *", "timezone": "UTC", "target": "http://127.0.0.1:9/hook"}
MAX_REDIRECTS = 10


@dataclass
class Reply:
    url: str
    status: int
    headers: dict[str, str]
    set_cookies: list[str]
    text: str

    @property
    def location(self):
        return self.headers.get("location", "")


@dataclass
class Browser:
    """A browser that keeps the cookies of each host, follows redirects and fills in forms."""

    cookies: dict[str, dict[str, str]] = field(default_factory=dict)

    def ask(self, method, url, body=None, headers=()):
        """Send one request and return its response, without following it."""
        parts = urlsplit(url)
        jar = self.cookies.setdefault(parts.hostname, {})
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items()), **dict(headers)}
        address = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)) as connection:
            connection.request(method, address, body, {name: value for name, value in headers.items() if value})
            answer = connection.getresponse()
            set_cookies = [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
            for text in set_cookies:
                name, _, rest = text.partition("=")
                jar[name] = rest.partition(";")[0].strip('"')
                if not jar[name]:
                    del jar[name]
            known = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(url, answer.status, known, set_cookies, answer.read().decode())

    def get(self, url, follow=True):
        return self._followed(self.ask("GET", url)) if follow else self.ask("GET", url)

    def post(self, url, fields, follow=True, **headers):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = self.ask("POST", url, urlencode(fields), {**kind, **headers})
        return self._followed(reply) if follow else reply

    def _followed(self, reply):
        for _ in range(MAX_REDIRECTS):
            if reply.status not in (301, 302, 303):
                return reply
            reply = self.ask("GET", urljoin(reply.url, reply.location))
        raise AssertionError(f"more than {MAX_REDIRECTS} redirects")


@dataclass
class House:
    """A service with a login: the addresses of its dashboard, and the API."""

    address: str
    api: object
    sessions: object

    @property
    def host(self):
        return urlsplit(self.address).hostname

    def sign_in(self, browser, name, next_page=""):
        """Sign in at the real provider, and return the page that follows."""
        form = browser.get(f"{self.address}/login?" + urlencode({"next": next_page}))
        if "csrfmiddlewaretoken" not in form.text:  # the provider knows the person already
            return form
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)[1]
        fields = {"csrfmiddlewaretoken": token, "username": name, "password": name}
        return browser.post(form.url, fields, Referer=form.url)

    def begun(self, browser):
        """Begin a login, and return the parameters that the provider receives."""
        reply = browser.get(f"{self.address}/login", follow=False)
        return {name: values[0] for name, values in parse_qs(urlsplit(reply.location).query).items()}

    def answer(self, browser, **query):
        """Return what the browser sees when the provider sends it back."""
        return browser.get(f"{self.address}/callback?{urlencode(query)}", follow=False)

    def form_token(self, browser, path):
        return unescape(re.search(r'name="form_token" value="([^"]*)"', browser.get(self.address + path).text)[1])

    def send(self, browser, path, fields=(), page="/t/acme/", follow=False, **headers):
        """Send a form as a page would, with the token of this browser."""
        fields = {"form_token": self.form_token(browser, page), **dict(fields)}
        return browser.post(self.address + path, fields, follow, **headers)


def session_of(house, browser):
    """Return what the cookie of a session holds."""
    return house.sessions.cookie.opened(browser.cookies[house.host].get(house.sessions.cookie.name, ""))


@contextmanager
def serving_with_login(folder, issuer, waits=True, **more):
    """Serve a dashboard with a login at an issuer, and two tenants with one schedule each."""
    port = free_port()
    login = {"ui_issuer": issuer, "ui_client_id": "kron", "ui_session_key": SESSION_KEY, "ui_name_claim": "email"}
    login |= {"ui_url": f"http://127.0.0.1:{port}/ui", "listen": f"127.0.0.1:{port}"}
    with serving(**{**settings(folder), **login, **more}) as service:
        for tenant in ("acme", "beta"):
            definition = {**DEFINITION, "description": f"canary-{tenant}"}
            reply = service.bearing(token(tenant)).put(f"/v1/schedules/{tenant}-own", definition)
            assert reply.status in (200, 201), reply.body
        login = service.app.state.parts.login
        house = House(f"http://127.0.0.1:{port}/ui", service, login.sessions)
        if waits:
            until(lambda: not login.provider.problem, 20)
        yield house
