"""Page of one run: its facts, its attempts and its neighbors are those of the store."""

import asyncio
import html
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.access import Role, Viewer
from kron.apps.dashboard.outcome_look import look_of_run
from kron.apps.dashboard.pages.run import waterfall
from kron.engine.clock import ManualClock
from kron.engine.registrar import Registrar
from kron.engine.report_writer import ReportWriter
from kron.engine.why import why
from kron.language import parse
from kron.rules.attempt import Attempt, AttemptResult
from kron.rules.launch_result import Report
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.stores.memory import MemoryStore
from kron.timing.job import Command, Job
from kron.timing.period import Period
from tests.dashboard.counted import CountedStore
from tests.dashboard.seeded import NOW
from tests.dashboard.seeded_schedules import DAILY, FREQUENT
from tests.dashboard.served import dashboard_of, served

NAMES = [row.name for row in (*DAILY, *FREQUENT)]


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def panel(text, title):
    return text.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]


def runs_of(store, name, count=4):
    return asyncio.run(store.runs(name, count))


@pytest.fixture(scope="module")
def failed(seeded):
    """The dead letter of four attempts."""
    (run,) = [run for run in runs_of(seeded, "billing.invoices") if run.dead]
    return run


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_those_of_the_run(site, seeded, name):
    for run in runs_of(seeded, name):
        page = site.get(f"/runs/{run.key}").text
        assert look_of_run(run).word in plain(page.partition("<h1>")[2].partition("</p>")[0])
        facts = plain(panel(page, "Facts"))
        assert run.key in facts and f"Revision{run.revision}" in "".join(facts.split())
        assert (run.trigger or "calendar") in facts and Period(run.nominal).id in facts
        assert f"State\n{run.state}".replace("\n", "") in "".join(facts.splitlines())


def test_steps_say_what_kron_why_says(site, seeded, failed):
    report = asyncio.run(why(seeded, failed.identity, 0, run_key=failed.key))
    page = plain(site.get(f"/runs/{failed.key}").text)
    assert report.summary().partition(": ")[2] in page


def test_every_attempt_has_a_line_with_its_answer_and_its_wait(site, seeded, failed):
    ((attempts),) = asyncio.run(seeded.attempts([failed.key]))
    lines = re.findall(r"<tr><td.*?</tr>", panel(site.get(f"/runs/{failed.key}").text, "Attempts"), re.DOTALL)
    assert len(lines) == len(attempts) == 4
    for line, attempt, following in zip(lines, attempts, [*attempts[1:], None], strict=True):
        words = plain(line)
        assert f"Attempt {attempt.number}" in words and str(attempt.code) in words and attempt.excerpt in words
        wait = following and (following.at - attempt.at - attempt.duration) / 1000
        assert (f"then a wait of {wait:.1f} s" in words) if wait else ("wait" not in words)


def test_run_that_succeeded_at_once_has_no_attempts(site, seeded):
    run = next(run for run in runs_of(seeded, "web.sitemap") if run.state is State.SUCCESS)
    assert "<h2>Attempts</h2>" not in site.get(f"/runs/{run.key}").text


@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), min_size=1, max_size=9))
def test_waterfall_sums_up_to_the_times_of_the_attempts(due, spans):
    """Times sent are relative to the due time, and attempts and waits follow one another."""
    attempts, at = [], due
    for number, (wait, duration) in enumerate(spans, 1):
        at += wait
        attempts.append(Attempt(number, at, duration, AttemptResult.RETRYABLE))
        at += duration
    picture = waterfall(Run("k", "a", 0, 1, due, State.FAILED), attempts)
    assert [line.attempt for line in picture.lines] == attempts
    assert [line.wait == "" for line in picture.lines] == [False] * (len(spans) - 1) + [True]
    assert len(picture.axis) == 3


def test_neighbors_are_the_periods_before_and_after(site, seeded):
    runs = runs_of(seeded, "web.sitemap", 6)
    middle = runs[3]
    links = re.findall(r'<a class="name" href="([^"]*)">', panel(site.get(f"/runs/{middle.key}").text, "Around it"))
    assert links == [f"/runs/{runs[4].key}", f"/runs/{runs[2].key}"]
    assert [site.get(link).status for link in links] == [200, 200]


def test_requested_run_names_its_request(site, seeded):
    run = next(run for run in runs_of(seeded, "reports.board") if run.trigger)
    page = plain(site.get(f"/runs/{run.key}").text)
    assert "Requested" in page and "board asked for a fresh copy" in page
    assert "Check it yourself" not in page  # the calendar decided nothing


def test_command_verifies_the_decision(site, failed, tmp_path):
    page = site.get(f"/runs/{failed.key}").text
    command = html.unescape(re.search(r'<code class="code wrap"[^>]*>(.*?)</code>', page, re.DOTALL)[1])
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    result = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert result.stdout.startswith("ok     billing.invoices")


def test_only_runs_that_can_run_again_offer_it(site, seeded, failed):
    assert f'href="/runs/{failed.key}/again"' in site.get(f"/runs/{failed.key}").text
    success = next(run for run in runs_of(seeded, "web.sitemap") if run.state is State.SUCCESS)
    assert "/again" not in site.get(f"/runs/{success.key}").text
    with served(dashboard_of(seeded, Role.VIEWER, store_name="sqlite:jobs.db")) as viewers:
        page = viewers.get(f"/runs/{failed.key}").text
        assert "/again" not in page and "kron ui --operator --store=sqlite:jobs.db" in page


@pytest.mark.parametrize("key", ["0" * 64, "x", "0" * 63 + "G", "%2e%2e"])
def test_run_that_does_not_exist_is_not_found(site, key):
    assert site.get(f"/runs/{key}").status == 404


def test_run_of_another_tenant_does_not_exist():
    store = MemoryStore(ManualClock(NOW))

    async def define():
        runs = []
        for identity in ("acme/a", "other/b"):
            await Registrar(store).upsert(Job(identity, parse("0 2 * * *", dialect="kron")))
            runs.append(await Registrar(store).trigger(identity, "now"))
        return runs

    async def access(request):
        return Viewer("ana", Role.VIEWER, tenants=("acme",))

    own, foreign = asyncio.run(define())
    with served(dashboard_of(store, access=access)) as site:
        assert site.get(f"/t/acme/runs/{own.key}").status == 200
        assert site.get(f"/t/acme/runs/{foreign.key}").status == 404
        assert site.get(f"/t/other/runs/{foreign.key}").status == 404


def test_page_takes_at_most_eight_calls_of_the_store_and_is_small(seeded):
    counted = CountedStore(seeded)
    with served(dashboard_of(counted)) as site:
        for name in NAMES:
            for run in runs_of(seeded, name, 2):
                counted.calls.clear()
                reply = site.get(f"/runs/{run.key}")
                assert reply.status == 200 and len(reply.text.encode()) < 60_000
                assert len([call for call in counted.calls if call != "now"]) <= 8, counted.calls


@pytest.mark.parametrize(
    ("target", "words", "others"),
    [
        ("command:", ("Output is cut", "Started", "Result", "exit status 3"), ("Answer", "Sent")),
        ("https://x.example/", ("Answers are cut", "Sent", "Answer"), ("exit status", "Result")),
    ],
)
def test_attempts_of_a_command_have_the_words_of_commands(target, words, others):
    store = MemoryStore(ManualClock(NOW))
    command = Command("exit 3") if target == "command:" else None
    job = Job("a", parse("0 4 * * * @policy(deadline=0s)", dialect="kron"), target=target, command=command)

    async def failed():
        await Registrar(store).upsert(job)
        run = await Registrar(store).trigger("a", "r")
        sent = run._replace(state=State.ENQUEUED, outcome=Outcome.EXECUTED, attempt=1, sent=NOW * 1000, owner="w")
        store._put(sent)
        await ReportWriter(store).write(run.key, Report.FAILED, code=3, excerpt="boom")
        return run.key

    key = asyncio.run(failed())
    with served(dashboard_of(store)) as site:
        text = panel(site.get(f"/runs/{key}").text, "Attempts")
        assert all(word in plain(text) for word in words) and not any(word in plain(text) for word in others)
        listed = plain(site.get("/runs").text)
        assert (("exit status 3" in listed), ("last answer 3" in listed)) == (command is not None, command is None)


def test_latest_claim_of_a_short_deadline_is_what_workers_check():
    store = MemoryStore(ManualClock(NOW))
    job = Job("a", parse("0 * * * * @policy(deadline=0s)", dialect="kron"), target="https://x.example/")
    asyncio.run(Registrar(store).upsert(job))
    with served(dashboard_of(store)) as site:
        text = plain(site.get("/schedules/a?period=2026-10-22T09:00:00Z").text)
    assert re.search(r"A worker may claim it until [0-9]{2}:00:01\.", text)
