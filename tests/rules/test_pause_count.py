"""Count of the periods that a pause of many schedules drops, against the plans of the single pauses."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kron.rules.edit import created
from kron.rules.pause import NO_ACTOR
from kron.rules.pause_count import pause_count
from kron.rules.pause_plan import pause_plan
from kron.timing.schedule.policy import Policy, Resume
from kron.timing.zone import instant_of
from tests.stores.making import a_job

NOW = instant_of("2026-10-24T22:42:17Z") * 1000  # the clocks go back in the next night
DAY = 86_400_000
TEXTS = st.sampled_from(
    [
        "* * * * *",
        "*/7 3 * * *",
        "0 2 * * * @tz(Europe/Paris)",
        "0 0 1 1 *",
        "30 2 * * * @win(after,3h)",
        "0 */3 * * * @win(around,2h)",
    ]
)
STATES = st.builds(
    lambda text, resume, limit, number: (
        created(a_job(f"s{number}", text, policy=Policy(resume=resume, max_runs=limit)), None, NOW, NO_ACTOR).after
    ),
    TEXTS,
    st.sampled_from(Resume),
    st.sampled_from([None, 2]),
    st.integers(0, 99),
)
UNTIL = st.one_of(st.none(), st.integers(NOW + 1, NOW + 2 * DAY))


def single(state, until):
    """Return how many periods the plan of a single pause drops within a day. It lists 1,000 at most: not minutely."""
    return sum(due.at <= NOW + DAY for due in pause_plan(state, NOW, until, 1_000).periods)


@settings(deadline=None, max_examples=50)
@given(st.lists(STATES.filter(lambda state: state.job.schedule.cron.minutes != (1 << 60) - 1), max_size=6), UNTIL)
def test_count_is_the_sum_of_the_single_plans(states, until):
    count = pause_count(states, NOW, until, NOW + DAY, 10_000)
    assert (count.schedules, count.more) == (len(states), False)
    assert count.periods == sum(single(state, until) for state in states)


@settings(deadline=None, max_examples=50)
@given(st.lists(STATES, max_size=6), UNTIL, st.integers(0, 3_000))
def test_count_ends_at_its_limit_and_says_so(states, until, limit):
    whole = pause_count(states, NOW, until, NOW + DAY, 1_000_000)
    count = pause_count(states, NOW, until, NOW + DAY, limit)
    assert count.periods <= limit
    assert count.more or count == whole
    assert not whole.more


@given(STATES, UNTIL)
def test_schedule_that_is_paused_loses_no_further_period(state, until):
    paused = state._replace(paused=True, paused_until=None)
    changed = 0 if until is None else 1
    assert pause_count([paused], NOW, until, NOW + DAY, 10_000) == (changed, 0, False)


def test_count_without_time_says_that_it_is_not_complete():
    state = created(a_job("a", "0 * * * *"), None, NOW, NO_ACTOR).after
    assert pause_count([state], NOW, None, NOW + DAY, 10_000, lambda: True) == (1, 0, True)
