"""The next period of a stored schedule: the HTTP API, the SQL views and the upcoming runs agree on it."""

import random
from dataclasses import replace
from itertools import islice

import pytest

from kron import parse
from kron.apps.record_fields import next_run_at
from kron.rules.edit import defined
from kron.rules.pause import NO_ACTOR, pause_expired_update, paused
from kron.rules.run import Run
from kron.rules.run_state import State
from kron.rules.survey import responsible, unhandled
from kron.rules.upcoming import next_period, no_upcoming_reason, upcoming
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.schedule.policy import APPLICATION, DECLARATIVE, KRON, MILLISECOND, SERVICE, Resume
from kron.timing.zone import instant_of, rfc3339
from tests.engine.world import World, play

MONDAY = instant_of("2026-06-01T00:00:00Z")
HOUR = 3_600
LINES = ["0 * * * *", "*/7 * * * *", "0 */6 * * * @tz(Asia/Kathmandu)", "30 1 * * *"]
WINDOWS = ["", "@win(after,50m)", "@win(around,3h)", "@win(after,26h)"]
POLICIES = [KRON, SERVICE, APPLICATION, DECLARATIVE, replace(SERVICE, resume=Resume.BY_DEADLINE)]


def a_job(dice):
    schedule = parse(f"{dice.choice(LINES)} {dice.choice(WINDOWS)}", dialect="kron")
    jitter = dice.choice([0, 0, 0, 600_000 * MILLISECOND])
    start = dice.choice([None, None, MONDAY + dice.randint(-5, 30) * HOUR])
    end = dice.choice([None, None, MONDAY + dice.randint(20, 90) * HOUR])
    return Job("x", replace(schedule, policy=replace(dice.choice(POLICIES), jitter=jitter)), start=start, end=end)


def a_state(dice):
    """Return a state that the rules made, and the time of its last change in milliseconds."""
    now = MONDAY * 1000 + dice.randint(0, 9 * HOUR) * 1000 + dice.choice([0, 1, 500])
    case = defined(a_job(dice), None, now, NO_ACTOR).after
    for _ in range(dice.choice([0, 0, 1, 2])):
        now += dice.randint(1, 6 * HOUR) * 1000
        update = defined(a_job(dice), case, now, NO_ACTOR)
        case = update.after if update else case
    ahead = [n for n in islice(unhandled(case, case.cursor), 12) if dice.random() < 0.3]
    case = case._replace(handled_ahead=frozenset(ahead))
    if dice.random() < 0.4:
        case = paused(case, now, now + dice.randint(1, 30 * HOUR) * 1000, NO_ACTOR).after
    return case, now


def owed_periods(case, most=1_500):
    """Return every owed period without a record, as the worker would find them after the end of the pause."""
    after = pause_expired_update(case).after if case.paused else case
    dues = (due_of(after.job, nominal) for nominal in islice(unhandled(after, after.cursor), most))
    ended = (case.paused_until or 0) - 1
    return [due for due in dues if responsible(after, due) and max(due.nominal * 1000, due.at) > ended]


@pytest.mark.parametrize("seed", range(600))
def test_next_run_at_view_and_upcoming_agree(seed):
    case, now = a_state(random.Random(seed))
    owed = owed_periods(case)
    first = owed[0].nominal if owed else None
    assert next_period(case) == first  # what the stores write for the SQL views
    assert next_run_at(case) == (None if first is None else rfc3339(first))  # what the HTTP API shows
    from_here = max(now, (case.paused_until or 0) - 1)
    runs = sorted((due for due in owed if due.at > from_here), key=lambda due: (due.at, due.nominal))
    assert upcoming(case, now, 20) == runs[:20]
    if owed and owed[0].at > from_here:  # not overdue
        assert min(due.nominal for due in upcoming(case, now, 300)) == first


@pytest.mark.parametrize("seed", range(100))
def test_next_period_skips_runs_recorded_in_the_same_commit(seed):
    case, now = a_state(random.Random(seed))
    owed = [due.nominal for due in owed_periods(case)]
    runs = [Run(str(n), "x", n, 1, now, State.PENDING) for n in owed[:3]]
    by_request = [Run("manual", "x", n, 1, now, State.PENDING, trigger="request") for n in owed[3:4]]
    assert next_period(case, [*runs, *by_request]) == (owed[3] if len(owed) > 3 else None)


@pytest.mark.parametrize(
    "change", [{"deleted": True}, {"paused": True}, {"deleted": True, "paused": True, "paused_until": MONDAY * 2_000}]
)
def test_next_period_of_a_resting_schedule_is_none(change):
    case, _ = a_state(random.Random(1))
    case = case._replace(paused=False, paused_until=None)._replace(**change)
    assert next_period(case) is next_run_at(case) is None


def test_next_period_of_a_suspended_schedule_is_none():
    job = Job("x", parse("0 * * * * @policy(suspend=true)", dialect="kron"))
    assert next_period(defined(job, None, MONDAY * 1000, NO_ACTOR).after) is None


def test_next_period_can_have_an_open_window():
    """A schedule that is created inside a window owes this period if its chosen time is still ahead."""
    job = Job("x", parse("0 0 * * * @win(after,23h)", dialect="kron"))
    chosen = due_of(job, MONDAY).at
    assert next_period(defined(job, None, chosen - 1, NO_ACTOR).after) == MONDAY
    assert next_period(defined(job, None, chosen + 1000, NO_ACTOR).after) == MONDAY + 24 * HOUR


def test_next_period_ends_its_search_in_a_dense_window():
    """Constraints reject every second, so that no period in the window is owed. The search is bounded."""
    line = "* * * * * @win(after,72h) @only(date=2020-01-01)"
    case = defined(Job("x", parse(line, dialect="kron")), None, MONDAY * 1000, NO_ACTOR).after
    assert next_period(case) == MONDAY + 60


@pytest.mark.parametrize("policy", [SERVICE, replace(SERVICE, resume=Resume.BY_DEADLINE)])
def test_upcoming_after_a_pause_inside_a_window_happens(policy):
    """The pause ends inside a window. The resume policy decides whether the open period is dropped."""

    async def script():
        world = World("2026-03-01T00:30:00Z", duration=1)
        case = await world.define("0 * * * * @win(after,59m)", policy)
        await world.registrar.pause("job", until=(instant_of("2026-03-01T02:00:00Z") + 1) * 1000)
        told = await world.registrar.preview("job", 3)
        shown = next_run_at(await world.registrar.get("job"))
        await world.run("2026-03-01T06:00:00Z")
        runs = [run for run in await world.store.runs("job", 20) if run.due > instant_of("2026-03-01T02:00:00Z") * 1000]
        runs.sort(key=lambda run: run.due)
        assert told == [run.due for run in runs[:3]]
        assert shown == rfc3339(min(run.nominal for run in runs))
        dropped = case.policy.resume is Resume.DROP
        assert shown == ("2026-03-01T03:00:00Z" if dropped else "2026-03-01T02:00:00Z")

    play(script())


def test_reason_of_a_pause_beyond_the_end_of_the_schedule():
    job = Job("x", parse("0 * * * *", dialect="kron"), end=MONDAY + 5 * HOUR)
    case = defined(job, None, MONDAY * 1000, NO_ACTOR).after
    case = paused(case, MONDAY * 1000, (MONDAY + 9 * HOUR) * 1000, NO_ACTOR).after
    assert upcoming(case, MONDAY * 1000, 5) == []
    assert next_period(case) is None
    assert no_upcoming_reason(case, MONDAY * 1000) == "the schedule has no further period until 2026-06-01T05:00:00Z"


def test_reason_of_a_start_beyond_the_search():
    job = Job("x", parse("0 * * * *", dialect="kron"), start=instant_of("2200-01-01T00:00:00Z"))
    case = defined(job, None, MONDAY * 1000, NO_ACTOR).after
    assert upcoming(case, MONDAY * 1000, 5) == []
    assert (
        no_upcoming_reason(case, MONDAY * 1000)
        == "the next period is more than 100 years ahead, at 2200-01-01T01:00:00Z"
    )
