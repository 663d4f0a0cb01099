"""Every page in a real browser: at three widths, in both themes, without errors, and accessible."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.dashboard.addresses import PARAMETERS, QUERIES, page_paths
from tests.dashboard.hostile import MARKS, hostile_store
from tests.dashboard.served import ask, dashboard_of, in_thread, served

ALL_LOOKS = [(width, theme) for width in (1440, 1024, 390) for theme in ("light", "dark")]
SHORT = ((1440, "light"), (390, "dark"))  # `make dashboard-looks` checks all looks
LOOKS = [pytest.param(*look, marks=() if look in SHORT else pytest.mark.campaign) for look in ALL_LOOKS]
PAGE_LOOKS = [  # without the campaign, each page has one look, and the pages together have all of them
    pytest.param(path, *look, marks=() if (page - number) % len(ALL_LOOKS) == 0 else pytest.mark.campaign)
    for page, path in enumerate(page_paths())
    for number, look in enumerate(ALL_LOOKS)
]
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
MAX_BYTES = 60_000
WATCH = "addEventListener('securitypolicyviolation', e => (window.violations ??= []).push(e.violatedDirective))"
pytestmark = pytest.mark.timeout(300)


class Watched:
    """A page of a browser, and all that went wrong in it."""

    def __init__(self, browser, site, width, theme):
        self.site, self.troubles = site, []
        size = {"width": width, "height": 900}
        self.context = browser.new_context(timezone_id="Europe/Paris", viewport=size, color_scheme=theme)
        self.context.add_cookies([{"name": "kron_zone", "value": "Europe/Paris", "url": site.address}])
        self.context.add_init_script(WATCH)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self._note(message.type == "error", message.text))
        self.page.on("pageerror", lambda error: self._note(True, str(error)))
        self.page.on("dialog", lambda dialog: self._note(True, f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self._note(not request.url.startswith(site.address + "/"), request.url))

    def _note(self, is_trouble, text):
        self.troubles += [text] if is_trouble else []

    def open(self, address, status=200):
        """Open a page and return what is wrong with it."""
        self.troubles.clear()
        response = self.page.goto(self.site.address + address)
        assert response.status == status, (address, response.status)
        assert len(response.body()) <= MAX_BYTES, address
        return self.faults(status)

    def faults(self, status=200):
        """Return what is wrong with the page that is open. A browser reports the status of an error page."""
        overflow = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        violations = self.page.evaluate("window.violations ?? []")
        troubles = [text for text in self.troubles if status == 200 or f"status of {status}" not in text]
        return [*troubles, *violations, *([f"{overflow} px too wide"] if overflow else [])]

    def violations(self):
        """Return what axe finds on the page that is open."""
        self.page.evaluate(AXE)
        results = self.page.evaluate("rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES)
        return [f"{each['id']}: {node['html'][:200]}" for each in results["violations"] for node in each["nodes"]]


@pytest.fixture(scope="module")
def dead_key(seeded):
    return ask(seeded.dead_letters("", 1))[0].key


def is_page(site, address):
    """Whether an address is a page, and not a file to keep."""
    return site.get(address).headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(("path", "width", "theme"), PAGE_LOOKS)
def test_page_fits_is_quiet_and_accessible(browser, seeded_site, dead_key, path, width, theme):
    address = path.format(**PARAMETERS).format(dead=dead_key)
    if not is_page(seeded_site, address):
        return
    watched = Watched(browser, seeded_site, width, theme)
    queries = QUERIES.get(path, ()) if (width, theme) in SHORT else ()
    for each in (address, *(f"{address}?{query}" for query in queries)):
        assert watched.open(each) == [], each
        assert watched.violations() == [], each
    watched.context.close()


def test_checks_see_what_they_look_for(browser, seeded_site):
    """A foreign request, a blocked script, an error, a page that is too wide and a link without words are found."""
    watched = Watched(browser, seeded_site, 390, "light")
    assert watched.open("/") == []
    watched.page.evaluate("""() => {
        const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
        const script = document.createElement('script'); script.textContent = 'window.pwned = 1';
        document.body.append(script); console.error('an error');
        const wide = document.createElement('div'); wide.className = 'nw'; wide.textContent = 'x'.repeat(2000);
        document.body.append(wide);
    }""")
    watched.page.wait_for_timeout(100)
    assert "an error" in watched.troubles
    assert "script-src-elem" in watched.page.evaluate("window.violations")
    assert "img-src" in watched.page.evaluate("window.violations")
    assert watched.page.evaluate("window.pwned") is None
    assert watched.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert any("image-alt" in each for each in watched.violations())
    watched.context.close()


@pytest.fixture(scope="module")
def hostile_site():
    store = in_thread(hostile_store)
    with served(dashboard_of(store)) as site:
        site.store = store
        yield site


@pytest.mark.parametrize("width", [1440, 390])
def test_hostile_names_notes_and_answers_do_nothing(browser, hostile_site, width):
    names = ask(hostile_site.store.identities("", 50))
    keys = [run.key for run in ask(hostile_site.store.dead_letters("", 5))]
    watched = Watched(browser, hostile_site, width, "light")
    seen = ""
    for address in hostile_addresses(names, keys):
        if not is_page(hostile_site, address):
            continue
        assert watched.open(address) == [], address
        assert watched.page.evaluate("window.pwned") is None, address
        assert watched.page.evaluate("document.querySelectorAll('main img, main script, main iframe').length") == 0
        links = watched.page.evaluate("[...document.querySelectorAll('[href], [action]')].map(e => e.href || e.action)")
        own = hostile_site.address + "/"
        assert [link for link in links if isinstance(link, str) and not link.startswith(own)] == [], address
        seen += watched.page.inner_text("main")
    for mark in MARKS:
        assert mark in seen, mark
    watched.context.close()


def hostile_addresses(names, keys):
    """Return the pages of a hostile store: lists, and the pages of each hostile schedule and run."""
    found = []
    for path in page_paths():
        values = names if "{name}" in path else keys if "{key}" in path else [""]
        found += [path.replace("{name}", quote(quote(value, safe=""))).replace("{key}", value) for value in values]
    found += ["/runs?dead=1", "/runs?outcome=failed", "/runs?outcome=running", "/activity?kind=changed"]
    attacks = ("<script>window.pwned=1</script>", '"><img src=x onerror=window.pwned=1>', "javascript:window.pwned=1")
    return found + [f"/schedules?q={quote(text)}" for text in attacks]
