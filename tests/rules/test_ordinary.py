"""The short way through a pass gives what the long way gives."""

from dataclasses import replace

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from kron import parse
from kron.rules.fast_path import plan_fast
from kron.rules.plan import plan, plan_full
from kron.rules.state import ScheduleState
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.period import next_nominal
from kron.timing.schedule.policy import DECLARATIVE, KRON, SECOND, SERVICE, Catchup
from tests.language import texts

OFTEN = st.sampled_from(
    [
        "* * * * * @win(around,3m)",
        "*/2 * * * * @win(after,7m) @dist(skewLate)",
        "* * * * * @tz(Australia/Lord_Howe)",
        "30 1 * * * @tz(Australia/Lord_Howe) @win(around,25h)",
        "*/7 * * * * @only(hours=1-20) @win(after,5m)",
        "0 0 29 2 *",
    ]
).map(lambda text: parse(text, dialect="kron"))
DAY = 86_400 * SECOND  # the long way looks at every period of a window
POLICIES = [
    *(KRON, SERVICE, DECLARATIVE, replace(SERVICE, jitter=90 * SECOND), replace(KRON, catchup_limit=1)),
    *(replace(KRON, deadline=None, catchup=catchup) for catchup in Catchup),
    *(replace(SERVICE, max_runs=2), replace(SERVICE, pause_on_failure=2)),
]


@given(
    OFTEN | texts.schedules.filter(lambda schedule: schedule.window.duration <= DAY),
    st.sampled_from(POLICIES),
    st.integers(1_500_000_000, 1_900_000_000),
    st.integers(-70_000, 70_000) | st.integers(-2_000, 6_000),
    st.integers(-200_000, 200_000) | st.just(-(10**9)),
    st.integers(0, 2),
)
@settings(max_examples=200, deadline=None)
def test_the_short_way_gives_what_the_long_way_gives(schedule, policy, cursor, late, since, count):
    job = Job("acme/report", replace(schedule, policy=policy))
    nominal = next_nominal(schedule, cursor)
    assume(nominal is not None)
    now = due_of(job, nominal).at + late
    counts = {"run_count": count} if policy.max_runs else {"failure_count": count} if policy.pause_on_failure else {}
    case = ScheduleState(job, 3, cursor, now + since, **counts)
    event("short" if plan_fast(case, now, "w1", now + 30_000) else "long")
    assert plan(case, now, owner="w1", lease=30_000) == plan_full(case, now, owner="w1", lease=30_000)


def test_a_period_on_time_goes_the_short_way():
    case = ScheduleState(Job("a", parse("* * * * *", dialect="kron")), 1, 59, 0)
    cursor, wake, run = plan_fast(case, 60_500, "w1", 90_500)
    assert (cursor, wake, run.state, run.due) == (60, 90_500, "launching", 60_000)


def test_a_period_that_is_never_too_late_goes_the_short_way():
    schedule = replace(parse("0 * * * *", dialect="posix"), policy=DECLARATIVE)
    late = plan_fast(ScheduleState(Job("a", schedule), 1, 3_599, 0), 4_000_000, "w1", 4_600_000)
    assert late is not None and (late[2].state, late[2].due) == ("launching", 3_600_000)
    once = replace(schedule, policy=replace(DECLARATIVE, catchup=Catchup.NONE))
    assert plan_fast(ScheduleState(Job("a", once), 1, 3_599, 0), 4_000_000, "w1", 4_600_000) is None
