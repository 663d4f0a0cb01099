"""Page that tries a text: it says the same as the command line, without a store and without a login."""

import html
import json
import re
import shlex
import time
from urllib.parse import urlencode, urlsplit

import pytest

import kron
from kron.apps.cli import main
from kron.apps.dashboard.app import make_dashboard
from kron.apps.dashboard.context import DashboardContext
from kron.apps.dashboard.sentence import sentence
from kron.language.english import describe
from tests.dashboard.served import served

AT = "2026-10-22T08:42:17Z"
PARIS = "30 17 * * MON-FRI @tz(Europe/Paris) @win(around,90m) @dist(normal) @avoid(date=2026-10-30)"


@pytest.fixture(scope="module")
def site():
    async def no_access(request):
        return None

    with served(make_dashboard(DashboardContext(None, None, no_access))) as site:
        yield site


def page_of(site, text, **more):
    reply = site.get("/try?" + urlencode({"s": text, "name": "acme/reports", "at": AT, **more}))
    assert reply.status == 200
    return reply.text


def shown_runs(text):
    """Return the chosen times of the list, as it shows them."""
    table = text.partition("<tbody>")[2].partition("</tbody>")[0]
    return re.findall(r'<td class="tab nw b"><time [^>]*datetime="([^"]*)\.000Z"', table)


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def cli(capsys, *words):
    main(list(words))
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (PARIS, "kron"),
        ("daily around 14:00", "fuzzy"),
        ("*/30 * * * * *", "service"),
        ("30 2 * * * @tz(Europe/Paris) @win(after,2h) @dist(skewEarly)", "kron"),
        ("at 2026-12-01T09:00,2027-01-01T09:00", "plus"),
    ],
)
def test_next_runs_are_those_of_the_command_line(site, capsys, text, dialect):
    words = ("next", text, "--dialect", dialect, "--identity", "acme/reports", "--at", AT, "-n", "10", "-o", "json")
    records = cli(capsys, *words)
    assert shown_runs(page_of(site, text)) == [record["chosen_time"].rstrip("Z") for record in records]
    assert shown_runs(page_of(site, text, dialect=dialect)) == [record["chosen_time"].rstrip("Z") for record in records]


def test_words_pieces_and_other_dialects_are_shown(site):
    text = plain(page_of(site, PARIS))
    assert describe(kron.parse(PARIS, dialect="kron")) in text
    for words in ("minute 30", "from Monday to Friday", "mostly near the middle", "never on 2026-10-30"):
        assert words in text
    assert "it would lose the window" in text  # of POSIX cron
    assert "0 9 * * 1-5" in plain(page_of(site, "0 9 * * MON-FRI"))


def test_periods_that_cannot_run_stand_between_the_runs(site):
    assert "1 period cannot run: avoid dates" in plain(page_of(site, PARIS))


def test_findings_are_those_of_lint_with_their_place(site, capsys):
    text = "30 2 1 * MON @tz(Europe/Paris)"
    findings = cli(capsys, "lint", text, "--at", AT, "-o", "json")
    page = page_of(site, text)
    assert len(findings) == 2 and all(f">{sentence(each['message'])}</b>" in page for each in findings)
    assert sentence("the deadline is 0s") == "The deadline is 0s."
    assert "30 2 <u>1 * MON</u> @tz(Europe/Paris)" in page


def test_command_on_the_page_gives_the_same_runs(site, capsys):
    page = page_of(site, "*/7 9 * * *", zone="America/New_York", name="a'b c")
    words = shlex.split(html.unescape(re.search(r'<code class="code wrap"[^>]*>(.*?)</code>', page)[1]))
    assert words[0] == "kron"
    records = cli(capsys, *words[1:], "-n", "10", "-o", "json")
    assert shown_runs(page) == [record["chosen_time"].rstrip("Z") for record in records]


def test_link_gives_the_same_answer_forever(site):
    """Opened later, in another zone, it is the same answer, byte for byte."""
    page = site.get("/try?" + urlencode({"s": PARIS})).text
    link = html.unescape(re.search(r'Same link, same answer: <a class="link" href="([^"]*)"', page)[1])
    assert urlsplit(link).path == "/try"
    first = site.get(link).text.partition('id="answer"')[2].partition("</main>")[0]
    time.sleep(1.1)
    other = type(site)(site.port, {"kron_zone": "Asia/Tokyo"})
    assert other.get(link).text.partition('id="answer"')[2].partition("</main>")[0] == first
    assert "data-relative" not in first


@pytest.mark.parametrize(
    ("text", "marked", "words"),
    [
        ("0 25 * * *", "0 <u>25</u> * * *", "Hour field value 25 is out of range"),
        ("0 9 * * MON-FIR", "0 9 * * MON-<u>FIR</u>", "Did you mean 'FRI'?"),
    ],
)
def test_error_underlines_its_place_and_shows_the_hint(site, text, marked, words):
    page = page_of(site, text)
    assert marked in page and words in plain(page)
    assert 'aria-invalid="true"' in page and shown_runs(page) == []


def test_error_offers_texts_that_are_valid(site):
    page = page_of(site, "0 9 * * MON-FIR")
    (link,) = re.findall(r'Try: <a class="mono" href="([^"]*)">0 9 \* \* MON-FRI</a>', page)
    assert len(shown_runs(site.get(html.unescape(link)).text)) == 10
    page = page_of(site, "*/30 * * * * *", dialect="kron")
    (link,) = re.findall(r'<a class="mono" href="([^"]*)">\*/30 \* \* \* \* \*</a> as service', page)
    assert len(shown_runs(site.get(html.unescape(link)).text)) == 10


def test_text_with_two_meanings_is_refused_and_both_are_offered(site):
    page = page_of(site, "0 0 1 1 1")
    assert "it has 2 meanings" in plain(page)
    for dialect in ("kron", "jenkins"):
        link = re.search(rf'<a class="mono" href="([^"]*)">0 0 1 1 1</a> as {dialect}', page)[1]
        assert len(shown_runs(site.get(html.unescape(link)).text)) == 10


@pytest.mark.parametrize(
    "values",
    [
        {"s": "0 9 * * *", "dialect": "nothing"},
        {"s": "0 9 * * *", "zone": "Nowhere/Land"},
        {"s": "0 9 * * *", "at": "yesterday"},
        {"s": "0 9 * * *", "name": "a\nb"},
    ],
)
def test_question_that_cannot_be_answered_says_why(site, values):
    reply = site.get("/try?" + urlencode(values))
    assert reply.status == 200 and 'id="refusal"' in reply.text and "x" * 1_001 not in reply.text


def test_text_of_more_than_1000_characters_is_refused(site):
    """Both texts are valid; one character is too many."""
    text = "0 9 * * *" + " @seed(stable,salt=" + "x" * 971 + ")"
    assert len(text) == 1_000 and len(shown_runs(page_of(site, text))) == 10
    page = page_of(site, text.replace("salt=", "salt=x"))
    assert "Use at most 1,000 characters here." in plain(page) and shown_runs(page) == []


def test_search_ends_at_its_time_limit(site, monkeypatch):
    monkeypatch.setattr("kron.apps.dashboard.trial.SEARCH_SECONDS", -1.0)
    assert "where the search ended because it took too long" in plain(page_of(site, "0 9 * * *"))


def test_search_is_bounded_in_time(site):
    """Openings and periods never meet, and every step takes 64 draws."""
    start = time.monotonic()
    text = page_of(site, "30 12 * * * @win(after,1h) @only(between=13:30-13:30)")
    assert time.monotonic() - start < 8
    assert "<footer>No " in text and "cannot run" in text


def test_page_without_a_question_has_examples(site):
    reply = site.get("/try")
    assert reply.status == 200
    for link in re.findall(r'<a class="mono" href="([^"]*)"', reply.text):
        assert site.get(html.unescape(link)).status == 200


def test_hostile_text_is_only_text(site):
    text = page_of(site, '<script>alert(1)</script>"><img src=x onerror=alert(1)>', name='"><script>')
    assert "<script>alert" not in text and "<img" not in text and '"><script>' not in text


def test_page_is_small_and_needs_no_role(site):
    assert len(page_of(site, PARIS).encode()) < 60_000
    assert site.get("/").status == 401  # other pages of this site admit no one
