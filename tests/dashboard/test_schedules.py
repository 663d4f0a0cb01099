"""The list of schedules: every schedule once, filters, the next run, and the newest periods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.charts.spark import SHAPES, spark
from kron.apps.dashboard.next_run import late_due, next_run
from kron.apps.dashboard.outcome_look import FAILED, LATE, MISSED, SKIPPED, SUCCEEDED, look_of_run
from kron.apps.dashboard.pages.schedules import _sentence
from kron.apps.dashboard.period_mark import MARKS, PeriodMark, marks_of
from kron.apps.dashboard.schedule_filter import Filter
from kron.engine.clock import ManualClock
from kron.engine.overview import RecentPeriods
from kron.engine.registrar import Registrar
from kron.rules.gap_record import GapRecord
from kron.rules.outcome import Outcome, Reason
from kron.rules.run_state import State
from kron.rules.upcoming import upcoming
from kron.stores.memory import MemoryStore
from kron.timing.due import due_of
from kron.timing.period import nominals
from tests.dashboard.counted import CountedStore
from tests.dashboard.parsed import more, parsed
from tests.dashboard.seeded import NOW
from tests.dashboard.served import ask, dashboard_of, served
from tests.stores.making import a_job


def names(main):
    return [row.all("a", "name")[0].text for row in main.all("tbody")[0].all("tr")] if main.all("tbody") else []


def all_states(store):
    return [state for state in ask(store.get(ask(store.identities("", 100)))) if state]


def test_every_schedule_is_listed_once_in_order(site, seeded):
    found, address = [], "/schedules"
    while address:
        main = parsed(site.get(address))
        found += names(main)
        address = more(main)
    assert found == ask(seeded.identities("", 100))
    assert len(found) > 25


@pytest.mark.parametrize(
    ("query", "is_shown"),
    [
        ("q=billing.", lambda state: state.identity.startswith("billing.")),
        ("label=team=crm", lambda state: ("team", "crm") in state.job.labels),
        ("q=label:tier=1", lambda state: ("tier", "1") in state.job.labels),
        ("q=db.&label=tier=1", lambda state: state.identity == "db.backup"),
        ("state=paused", lambda state: state.paused),
        ("state=late", lambda state: state.identity == "orders.sync"),
        ("outcome=missed", lambda state: state.identity == "mail.digest"),
        ("outcome=failed", lambda s: s.identity in ("billing.invoices", "billing.reminders", "billing.statements")),
    ],
)
def test_filter_shows_what_matches_and_nothing_else(site, seeded, query, is_shown):
    expected = [state.identity for state in all_states(seeded) if is_shown(state)]
    assert names(parsed(site.get(f"/schedules?{query}"))) == expected != []


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 schedule matches and is"), (25, "25 or more schedules match and are")]
)
def test_heading_of_a_name_and_a_pause_is_a_sentence(count, words):
    assert _sentence(Filter("a", state="paused"), count, is_more=count > 1) == f"{words} paused"


def test_run_key_in_the_search_leads_to_the_run(site, seeded):
    key = ask(seeded.dead_letters("", 1))[0].key
    reply = site.get(f"/schedules?q={key.upper()}")
    assert (reply.status, reply.headers["location"]) == (303, f"/runs/{key}")


@pytest.mark.parametrize("query", ["state=x", "outcome=success", "label=billing", "q=label:"])
def test_unknown_filter_is_refused_or_ignored(site, query):
    assert site.get(f"/schedules?{query}").status == (200 if query == "q=label:" else 422)


def test_row_says_what_happened_last_and_why(site):
    rows = {
        row.all("a", "name")[0].text: row for row in parsed(site.get("/schedules")).all("tr") if row.all("a", "name")
    }
    assert "Not startedcould not be launched · 7 h 25 min ago" in rows["billing.invoices"].text
    assert "no worker was running" in rows["mail.digest"].text
    assert "Late" in rows["orders.sync"].text
    assert "in 2 min 43 s" in rows["orders.sync"].text
    assert "until Tue 27 Oct, 09:00" in rows["mail.newsletter"].text
    assert "No period yet" in rows["payroll.transfer"].text
    assert "At 04:00 on the 1st of every month, UTC." in rows["billing.close-month"].text


def test_spark_has_the_newest_periods_of_the_store(site, seeded):
    rows = {
        row.all("a", "name")[0].text: row for row in parsed(site.get("/schedules")).all("tr") if row.all("a", "name")
    }
    runs = sorted(seeded.ledger["crm.import-legacy"].values(), key=lambda run: run.nominal)[-MARKS:]
    words = [look_of_run(run).word.lower() for run in runs]
    label = rows["crm.import-legacy"].one("svg", "spark").attributes["aria-label"]
    for word in set(words):
        assert f"{words.count(word)} {word}" in label


@given(st.integers(0, 7 * 86_400))
def test_late_is_what_the_calendar_owes_and_the_ledger_lacks(seeded, seconds):
    """If all workers stop at the end of the seeded time, schedules become late one after the other."""
    now = (NOW + seconds) * 1000
    for state in all_states(seeded):
        late = late_due(state, now)
        is_owed = False
        if not (state.paused and (state.paused_until is None or state.paused_until > now)):
            begin = max(state.cursor, state.paused_until // 1000 if state.paused else state.cursor)
            for nominal in nominals(state.job.schedule, begin, NOW + seconds + 7_200):
                due = due_of(state.job, nominal)
                if nominal not in state.handled_ahead and due.schedulable:
                    is_owed = due.at + state.policy.resolution // 1_000_000 < now
                    break
        assert (late is not None) == is_owed, state.identity
        upcoming_run = next_run(state, now)
        assert upcoming_run.at is None or upcoming_run.at > now


LOOKS = st.sampled_from([SUCCEEDED, FAILED, MISSED, SKIPPED, LATE])


@given(st.lists(LOOKS, max_size=40))
def test_spark_draws_one_shape_for_each_of_the_newest_periods(looks):
    picture = str(spark([PeriodMark(number, look) for number, look in enumerate(looks)]))
    newest = looks[-MARKS:]
    assert picture.count("<path") == len(newest)
    positions = [int(part.partition(" ")[0]) for part in picture.split('d="M')[1:]]
    assert positions == sorted(set(positions))
    assert all(0 < each < 126 for each in positions)
    assert not newest or positions[-1] == 121  # the newest is at the right edge
    for look in set(newest):
        assert picture.count(str(SHAPES[look.icon]).partition(" d=")[0]) >= newest.count(look)
        assert f"{newest.count(look)} {look.word.lower()}" in picture


@given(st.integers(1, 60), st.integers(1, 1_000_000))
def test_marks_of_a_gap_record_are_as_many_as_its_periods(count, first):
    gap = GapRecord(first, first + 300 * (count - 1), count, Outcome.MISSED, Reason.CATCHUP_NONE)
    marks = marks_of(RecentPeriods((), (gap,)))
    assert len(marks) == min(count, MARKS)
    assert marks[-1].at == gap.last * 1000
    assert [mark.at for mark in marks] == sorted(mark.at for mark in marks)
    assert {mark.look.word for mark in marks} == {"Missed"}
    assert State.MISSED.value == Outcome.MISSED.value


def test_filters_have_the_numbers_of_their_lists(site):
    main = parsed(site.get("/schedules"))
    chips = {link.text: link.attributes["href"] for link in main.all("a", "chip")}
    for word in ("Late", "Last failed", "Paused"):
        ((text, address),) = [(text, address) for text, address in chips.items() if text.startswith(f"{word} ")]
        assert int(text.removeprefix(word)) == len(names(parsed(site.get(address)))) > 0


@pytest.mark.parametrize(("count", "text"), [(0, "Paused 0"), (100, "Paused 100"), (101, "Paused 100+")])
def test_numbers_of_filters_are_bounded(count, text):
    store = MemoryStore(ManualClock(NOW))
    for number in range(max(1, count)):
        ask(Registrar(store).upsert(a_job(f"s{number:03d}")))
    for number in range(count):
        ask(Registrar(store).pause(f"s{number:03d}"))
    with served(dashboard_of(store)) as site:
        assert text in [link.text for link in parsed(site.get("/schedules")).all("a", "chip")]


def test_number_that_is_slow_to_find_is_left_out(seeded):
    store = CountedStore(seeded, slow=("troubled_schedules",))
    with served(dashboard_of(store)) as site:
        words = [link.text for link in parsed(site.get("/schedules")).all("a", "chip")]
    assert "Last failed" in words and any(word.startswith("Paused ") for word in words)


@pytest.mark.parametrize("query", ["", "?state=late", "?q=mail", "?q=no.such", "?sort=next", "?state=paused"])
def test_list_takes_at_most_eight_calls_of_the_store(seeded, query):
    store = CountedStore(seeded)
    with served(dashboard_of(store)) as site:
        assert site.get(f"/schedules{query}").status == 200
    assert len(store.calls) <= 8, store.calls


def test_schedules_can_be_listed_by_their_next_run(site, seeded):
    main = parsed(site.get("/schedules?sort=next"))
    states = ask(seeded.get(ask(seeded.identities("", 1_000))))
    coming = [(due[0].at, state.identity) for state in states if (due := upcoming(state, NOW * 1000, 1))]
    assert names(main) == [name for _, name in sorted(coming)][:25]
    assert site.get("/schedules?sort=last").status == 422
