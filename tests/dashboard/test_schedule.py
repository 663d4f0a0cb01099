"""Page of one schedule: its ladder and its words are those of the store, of `kron next` and of `kron why`."""

import asyncio
import html
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.access import Role, Viewer
from kron.apps.dashboard.axis_text import axis_texts, tick_text
from kron.apps.dashboard.charts.window import WindowAxis
from kron.apps.dashboard.definition import target_text, zone_text
from kron.apps.dashboard.figures import percentile
from kron.apps.dashboard.outcome_look import look_of_outcome, look_of_run
from kron.apps.dashboard.rung import look_of_line
from kron.apps.dashboard.why_panel import why_of
from kron.engine.clock import ManualClock
from kron.engine.periods import periods_around
from kron.engine.registrar import Actor, Registrar
from kron.engine.why import why
from kron.language import parse
from kron.rules.action import ActionKind, ScheduleAction
from kron.rules.attempt import Attempt, AttemptResult
from kron.rules.outcome import Outcome, Reason
from kron.rules.upcoming import upcoming
from kron.stores.memory import MemoryStore
from kron.timing.due import due_of
from kron.timing.job import Command, Job
from kron.timing.key import key_of
from kron.timing.zone import instant_of, zone
from tests.dashboard.counted import CountedStore
from tests.dashboard.seeded import NOW
from tests.dashboard.seeded_schedules import DAILY, FREQUENT
from tests.dashboard.served import dashboard_of, served

NAMES = [row.name for row in (*DAILY, *FREQUENT)]
ROW = re.compile(r"<tr data-row(.*?)</tr>", re.DOTALL)


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def rows_of(text):
    """Return for each line of the ladder: its period, its chosen time, and its words."""
    table = text.partition('class="rows cards ladder"')[2].partition("</table>")[0]
    rows = []
    for row in ROW.findall(table):
        cells = row.split("<td")[1:]
        period = re.search(r"period=([^&#\"]*)", cells[0])[1].replace("%3A", ":")
        chosen = re.search(r'datetime="([^"]*)"', cells[2])
        rows.append((instant_of(period), chosen and chosen[1], plain("<td" + cells[4]), "come" in row.split(">")[0]))
    return rows


def panel(text, title):
    return text.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]


@pytest.mark.parametrize("name", NAMES)
def test_coming_lines_are_the_runs_that_the_schedule_will_have(site, seeded, name):
    """As `kron next` and the engine compute them."""
    (state,) = asyncio.run(seeded.get([name]))
    rows = [row for row in rows_of(site.get(f"/schedules/{name}").text) if row[3]]
    dues = {due.nominal: due.at for due in upcoming(state, NOW * 1000, 20)}
    shown = {period: chosen for period, chosen, words, _ in rows if words.startswith(("in ", "first", "second"))}
    assert set(shown) == {nominal for nominal in dues if nominal <= max(shown, default=0)}
    for nominal, chosen in shown.items():
        assert instant_of(chosen) * 1000 == dues[nominal] // 1000 * 1000


@pytest.mark.parametrize("name", NAMES)
def test_past_lines_have_the_outcomes_of_the_store(site, seeded, name):
    """Nine periods before now; each line says what its run or its gap record says."""
    rows = [row for row in rows_of(site.get(f"/schedules/{name}").text) if not row[3]]
    assert len(rows) >= 9
    gaps = asyncio.run(seeded.gaps(name))
    requested = {run.nominal: run for run in asyncio.run(seeded.runs(name, 100)) if run.trigger}
    for nominal, _, words, _ in rows:
        (run,) = asyncio.run(seeded.runs_by_key([key_of(name, nominal)]))
        run = run or requested.get(nominal)
        gap = next((gap for gap in gaps if gap.first <= nominal <= gap.last), None)
        if run is not None:
            assert words.startswith(look_of_run(run).word)
        elif gap is not None:
            assert words.startswith(look_of_outcome(gap.outcome, gap.reason).word)
        else:
            assert words.startswith(("No run", "Late", "Paused"))


def test_period_that_passed_during_a_pause_names_the_person(site):
    """The schedule was paused from 09:12 to 13:30 UTC."""
    rows = rows_of(site.get("/schedules/crm.import-legacy?period=2026-10-21T10:49:00Z").text)
    passed = [row[0] for row in rows if row[2] == "Missedpast its deadline, while paused by ana.lopez"]
    assert passed == [instant_of("2026-10-21T10:49:00Z"), instant_of("2026-10-21T12:49:00Z")]


@pytest.mark.parametrize(
    ("outcome", "reason", "actor", "text"),
    [
        (Outcome.SKIPPED, Reason.PAUSED, "ana", "paused by ana"),
        (Outcome.SKIPPED, Reason.PAUSED, "", "paused"),
        (Outcome.SKIPPED, Reason.OVERLAP, "ana", "previous run was active, while paused by ana"),
    ],
)
def test_reason_of_a_pause_in_words(outcome, reason, actor, text):
    action = ScheduleAction(ActionKind.PAUSED, 0, actor=actor)
    line = SimpleNamespace(run=None, outcome=outcome, reason=reason, report=SimpleNamespace(action=action))
    assert look_of_line(line).reason == text


def test_every_chosen_second_is_that_of_the_decision(site, seeded):
    (state,) = asyncio.run(seeded.get(["billing.invoices"]))
    revisions = asyncio.run(seeded.revisions("billing.invoices"))
    for nominal, chosen, _, _ in rows_of(site.get("/schedules/billing.invoices").text):
        job = next((each.job for each in reversed(revisions) if each.at <= nominal * 1000), state.job)
        assert instant_of(chosen) * 1000 == due_of(job, nominal).at


def test_clocks_that_go_back_are_announced_and_both_times_are_told_apart(site):
    text = plain(site.get("/schedules/billing.invoices").text)
    assert "the time 2026-10-25 02:30 occurs twice, so there are two runs" in text
    assert "first 02:30" in text and "second 02:30" in text
    assert "Clocks change" not in plain(site.get("/schedules/orders.sync").text)


def test_axis_has_clock_times_if_all_periods_share_them(site):
    head = site.get("/schedules/db.backup").text.partition('class="ladax"')[2].partition("</tr>")[0]
    assert re.findall(r"<span>([^<]*)</span>", head) == ["nominal", "+90 min", "+3 h"]  # in Paris, at two clock times
    assert axis_texts(WindowAxis(0, 7_200), [NOW // 86_400 * 86_400], zone("UTC")) == ["00:00", "01:00", "02:00"]


@pytest.mark.parametrize(
    "name", ["billing.invoices", "orders.sync", "crm.import-legacy", "mail.newsletter", "fx.rates"]
)
def test_why_panel_says_what_kron_why_says(site, seeded, name):
    for nominal, _, _, _ in rows_of(site.get(f"/schedules/{name}").text)[:9]:
        period = f"{zone('UTC').wall(nominal).text[:10]}T{zone('UTC').wall(nominal).text[11:19]}Z"
        page = site.get(f"/schedules/{name}?period={period}").text
        report = asyncio.run(why(seeded, name, nominal * 1000))
        why_text = plain(page.partition('id="why"')[2].partition("</section>")[0])
        for line in report.lines():
            assert " ".join(line.split()) in " ".join(why_text.split())
        assert report.summary().partition(": ")[2] in why_text
        assert 'aria-selected="true"' in page


def test_selected_period_is_the_last_that_was_due(site):
    page = site.get("/schedules/billing.invoices").text
    selected = re.search(r'<tr data-row aria-selected="true">.*?period=([^"#]*)', page)[1]
    assert selected.replace("%3A", ":") == "2026-10-22T00:30:00Z"


def test_earlier_and_later_pages_meet_without_a_gap(site):
    """Ladders that are read one after the other list every period once, in order."""
    page = site.get("/schedules/orders.sync").text
    middle = [row[0] for row in rows_of(page)]
    earlier, later = (
        html.unescape(re.search(rf'href="([^"]*)">{word}</a>', page)[1]) for word in ("← Earlier", "Later →")
    )
    before = [row[0] for row in rows_of(site.get(earlier).text)]
    after = [row[0] for row in rows_of(site.get(later).text)]
    assert [*before, *middle, *after] == list(range(before[0], before[0] + 45 * 300, 300))
    assert ">Now</a>" in site.get(earlier).text and ">Now</a>" not in page


def test_period_that_is_far_away_is_shown_with_its_neighbors(site):
    rows = rows_of(site.get("/schedules/orders.sync?period=2026-10-21T00:00:00Z").text)
    assert instant_of("2026-10-21T00:00:00Z") in [row[0] for row in rows]
    page = plain(site.get("/schedules/orders.sync?period=2026-10-21T00:00:00Z").text)
    assert "period 2026-10-21T00:00:00Z: chosen" in page


@pytest.mark.parametrize("name", ["billing.invoices", "orders.sync", "web.sitemap"])
def test_percentiles_are_those_of_the_runs(site, seeded, name):
    """Slow oracle: the values of all runs, one by one."""
    runs = [run for run in asyncio.run(seeded.runs(name, 60)) if not run.trigger]
    lengths = sorted(run.finished - run.started for run in runs if run.started and run.finished)
    text = plain(panel(site.get(f"/schedules/{name}").text, "Duration"))
    for words, share in (("p50", 50), ("p99", 99)):
        value = next(v for i, v in enumerate(lengths, 1) if i * 100 >= share * len(lengths))
        seconds = value / 1000
        shown = f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"
        assert f"{words} {shown}" in text
    assert len(re.findall(r"<rect", panel(site.get(f"/schedules/{name}").text, "Duration"))) == len(lengths)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50), st.integers(1, 100))
def test_percentile_is_the_first_value_that_enough_values_do_not_exceed(values, share):
    values.sort()
    expected = next(v for v in values if sum(w <= v for w in values) * 100 >= share * len(values))
    assert percentile(values, share) == expected


def command_of(page):
    return html.unescape(re.search(r'<code class="code wrap"[^>]*>(.*?)</code>', page, re.DOTALL)[1])


def run_in_shell(command, folder):
    return subprocess.run(
        ["sh", "-c", command],
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_unschedulable_period_of_the_future_says_so(site):
    rows = rows_of(site.get("/schedules/tax.report-es").text)
    (saturday,) = [row for row in rows if row[0] == instant_of("2026-10-24T10:00:00Z")]
    assert saturday[1:] == (None, "No valid timeno second satisfied the constraints", True)


def test_command_computes_the_decision_again(site, tmp_path):
    page = site.get("/schedules/billing.invoices?period=2026-10-25T01:30:00Z").text
    chosen = next(row[1] for row in rows_of(page) if row[0] == instant_of("2026-10-25T01:30:00Z"))
    result = run_in_shell(command_of(page), tmp_path)
    assert result.stdout.split() == ["ok", "billing.invoices", "2026-10-25T01:30:00Z", "->", f"{chosen[:19]}Z"]


HOSTILE = "a'; touch owned; echo '$(touch owned) \"><script>alert(1)</script>"


def a_site(*jobs, access=None, role=Role.OPERATOR, slow=()):
    store = MemoryStore(ManualClock(NOW))

    async def define():
        for job in jobs:
            await Registrar(store).upsert(job, Actor("<b>ana</b>", "<i>note</i>"))

    asyncio.run(define())
    counted = CountedStore(store, slow)
    return counted, dashboard_of(counted, role, access)


def a_job(identity, text="0 2 * * * @win(after,1h)", **more):
    return Job(identity, parse(text, dialect="kron"), **more)


def test_hostile_names_are_only_text_on_the_page_and_in_the_shell(tmp_path):
    job = a_job(HOSTILE, target="https://x.example/", description="<u>", labels=(("team", "<s>"),))
    _, app = a_site(job)
    with served(app) as site:
        page = site.get(f"/schedules/{quote(quote(HOSTILE, safe=''))}").text
    for tag in ("<script>alert", "<b>ana", "<i>note", "<s>", "<u>"):
        assert tag not in page
    assert "&lt;b&gt;ana" in page
    result = run_in_shell(command_of(page), tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("ok")
    assert list(tmp_path.iterdir()) == []


def test_name_with_a_slash_has_a_page():
    _, app = a_site(a_job("billing/invoices"))
    with served(app) as site:
        assert site.get("/schedules/billing%252Finvoices").status == 200
        assert site.get("/schedules/billing%252Fother").status == 404


def test_schedule_of_another_tenant_does_not_exist():
    async def access(request):
        return Viewer("ana", Role.VIEWER, tenants=("acme",))

    _, app = a_site(a_job("acme/a"), a_job("other/b"), access=access)
    with served(app) as site:
        assert site.get("/t/acme/schedules/a").status == 200
        for path in ("/t/acme/schedules/b", "/t/acme/schedules/other%252Fb", "/t/other/schedules/b", "/schedules/a"):
            assert site.get(path).status == 404


def test_page_takes_at_most_eight_calls_of_the_store_and_is_small(seeded):
    counted = CountedStore(seeded)
    with served(dashboard_of(counted)) as site:
        for name in NAMES:
            counted.calls.clear()
            reply = site.get(f"/schedules/{name}")
            assert reply.status == 200 and len(reply.text.encode()) < 60_000
            assert len([call for call in counted.calls if call != "now"]) <= 8, counted.calls


def test_slow_panel_shows_a_dash_and_the_page_comes():
    _, app = a_site(a_job("a"), slow=("recent",))
    with served(app) as site:
        page = site.get("/schedules/a").text
        assert "—" in plain(panel(page, "Lateness")) and len(rows_of(page)) == 15


@pytest.mark.parametrize("query", ["period=x", "before=2026", "after=-1"])
def test_period_that_is_no_instant_is_refused(site, query):
    assert site.get(f"/schedules/orders.sync?{query}").status == 422


def test_deleted_schedule_keeps_its_page(site):
    page = plain(site.get("/schedules/legacy.ping").text)
    assert "Deleted" in page and "the schedule is deleted" in page and "sla.probe replaces it" in page


def test_paused_schedule_says_until_when_by_whom_and_why(site):
    page = plain(site.get("/schedules/mail.newsletter").text)
    assert "Paused until Tue 27 Oct, 09:00." in page and "By ben.okafor" in page and "template is broken" in page


def test_why_panel_names_the_times_of_a_pause_in_the_zone_of_the_viewer(site):
    why_panel = plain(panel(site.get("/schedules/mail.newsletter").text, "Why")).partition("kron explain")[0]
    assert "Paused by ben.okafor, Mon 19 Oct, 18:05 until Tue 27 Oct, 09:00: template is broken." in why_panel
    assert "T16:05:40Z" not in why_panel and "T08:00:00Z" not in why_panel


def test_dead_letter_of_the_ladder_has_its_attempts_and_the_last_answer(site):
    page = plain(panel(site.get("/schedules/billing.invoices").text, "Periods"))
    assert "Not startedcould not be launched, 4 attempts, last answer 503" in page


def test_missed_period_leads_to_the_form_that_runs_it(site):
    page = site.get("/schedules/mail.digest?period=2026-10-22T06:43:00Z").text
    link = re.search(r'<a class="btn sm" href="([^"]*)">Run this period…</a>', page)[1].replace("&amp;", "&")
    assert link.endswith("/backfill?from=2026-10-22T08%3A43&to=2026-10-22T08%3A43")
    form = plain(site.get(link).text)
    assert "1 period, one after another. 1 did not run" in form and "08:43:00" in form


@pytest.mark.parametrize(
    ("name", "period"),
    [
        ("billing.invoices", "2026-10-22T00:30:00Z"),  # a dead letter
        ("billing.invoices", "2026-10-21T00:30:00Z"),  # it succeeded
        ("billing.invoices", "2026-10-23T00:30:00Z"),  # it is coming
    ],
)
def test_other_periods_do_not_lead_to_the_form(site, name, period):
    page = site.get(f"/schedules/{name}?period={period}").text
    assert 'aria-selected="true"' in page and "Run this period…" not in page


def test_changes_show_the_words_that_changed(site):
    changes = panel(site.get("/schedules/billing.invoices").text, "Changes")
    assert '<del class="del">@win(after,1h)</del>' in changes
    assert '<ins class="ins">@win(after,2h) @dist(skewEarly)</ins>' in changes
    assert "ana.lopez" in changes and "the ERP is slow at night" in changes


def test_target_has_no_secret():
    assert target_text(a_job("a", target="https://u:secret@x.example/h?token=1")) == "POST https://u:…@x.example/h?…"
    assert target_text(a_job("a", command=Command("deploy --password=1"))) == "command deploy"


def test_zone_names_its_next_change():
    assert zone_text(zone("Europe/Paris"), NOW) == "Europe/Paris, now UTC+2 · UTC+1 from 25 Oct 2026"
    assert zone_text(zone("Asia/Kathmandu"), NOW) == "Asia/Kathmandu, now UTC+5:45"


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0"), (100, "100 ms"), (10_000, "10 s"), (600_000, "10 min"), (90_000, "90 s")]
)
def test_tick_in_words(milliseconds, text):
    assert tick_text(milliseconds) == text


def test_viewer_sees_actions_greyed_with_the_command(seeded):
    with served(dashboard_of(seeded, Role.VIEWER, store_name="sqlite:jobs.db")) as site:
        page = site.get("/schedules/billing.invoices").text
        buttons = re.findall(r'<a class="btn(?: pri)?" ([^>]*)>', page.partition("</h1>")[2].partition("hero")[0])
        assert len(buttons) == 4 and all("href" not in button for button in buttons)
        assert buttons[0] == 'aria-disabled="true" title="kron pause --store=sqlite:jobs.db billing.invoices"'


def test_operator_reaches_every_action_by_a_link(site):
    for name in ("billing.invoices", "mail.newsletter"):
        page = site.get(f"/schedules/{name}").text.partition("</h1>")[2].partition("hero")[0]
        links = re.findall(r'<a class="btn(?: pri)?" href="([^"]*)">', page)
        assert len(links) == 4 and [site.get(link).status for link in links] == [200] * 4


def test_tenant_does_not_see_the_names_of_workers(seeded):
    lines = asyncio.run(periods_around(seeded, "billing.invoices", NOW * 1000, 1, 0))
    lost = Attempt(1, 0, 5, AttemptResult.LOST, None, "worker kron-7 recorded no result before its claim ended")
    line = replace(lines[-1], report=replace(lines[-1].report, attempts=(lost,)))
    for is_tenant in (False, True):
        why_panel = why_of(line, is_tenant=is_tenant)
        assert ("kron-7" in f"{why_panel.attempts} {why_panel.report}") is not is_tenant
