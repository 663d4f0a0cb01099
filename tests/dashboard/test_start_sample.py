"""How late runs started: percentiles of the newest runs of a few schedules."""

from hypothesis import given
from hypothesis import strategies as st

from kron.apps.dashboard.pages.overview import SAMPLED_SCHEDULES, USUAL_RUNS
from kron.apps.dashboard.start_sample import DAY_MS, StartSample, start_sample
from kron.apps.dashboard.time_text import span_text
from kron.engine.overview import RecentPeriods
from kron.rules.outcome import Outcome
from kron.rules.run import Run
from kron.rules.run_state import State
from tests.dashboard.parsed import parsed
from tests.dashboard.served import ask

NOW = 1_800_000_000_000


def a_run(due, lateness):
    sent = 0 if lateness is None else due + lateness
    outcome = Outcome.MISSED if lateness is None else Outcome.EXECUTED
    state = State.MISSED if lateness is None else State.SUCCESS
    return Run("0" * 64, "a", due // 1000, 1, due, state, "", outcome, attempt=lateness is not None, sent=sent)


def rank(values, share):
    """The first value that enough of them do not exceed."""
    return next(v for v in values if sum(w <= v for w in values) * 100 >= share * len(values))


RUNS = st.lists(st.tuples(st.integers(0, 2 * DAY_MS), st.none() | st.integers(-50, 10**6)), max_size=8)


@given(st.lists(RUNS, max_size=6))
def test_sample_is_about_the_starts_of_the_last_day(schedules):
    records = [RecentPeriods(tuple(a_run(NOW - age, lateness) for age, lateness in runs), ()) for runs in schedules]
    kept = [[late for age, late in runs if age < DAY_MS and late is not None] for runs in schedules]
    values = sorted(max(0, late) for each in kept for late in each)
    if not values:
        assert start_sample(records, NOW) is None
        return
    p50, p99 = (
        next(v for v in values if sum(w <= v for w in values) * 100 >= share * len(values)) for share in (50, 99)
    )
    assert start_sample(records, NOW) == StartSample(p50, p99, len(values), sum(map(bool, kept)))


def test_overview_says_how_late_runs_started_and_of_how_many(site, seeded):
    now = ask(seeded.now())
    names = ask(seeded.overview.next_checks("", SAMPLED_SCHEDULES))
    runs = [run for name in names for run in ask(seeded.overview.recent([name], USUAL_RUNS))[name].runs]
    late = sorted(run.started - run.due for run in runs if run.started and run.due > now - DAY_MS)
    p50, p99 = span_text(rank(late, 50)), span_text(rank(late, 99))
    words = f"From due to start: p50 {p50}, p99 {p99}, of {len(late)} runs of the"
    assert words in parsed(site.get("/")).text


def test_figure_of_a_schedule_says_of_how_many_starts(site, seeded):
    runs = [run for run in ask(seeded.runs("orders.sync", 60)) if not run.trigger]
    started = [run for run in runs if run.started]
    assert f" · {len(started)} starts" in parsed(site.get("/schedules/orders.sync")).text
