"""Upcoming runs: only what will happen, over any stretch that the constraints close, and the reason for nothing."""

import random
from itertools import islice

import pytest

from kron import parse
from kron.rules.state import ScheduleState
from kron.rules.upcoming import no_upcoming_reason, upcoming
from kron.timing.due import due_of
from kron.timing.job import Job
from kron.timing.period import periods
from kron.timing.schedule.policy import SERVICE
from kron.timing.zone import instant_of, moment
from tests.engine.world import World, play

MONDAY = instant_of("2026-06-01T00:00:00Z")


def a_case(text, now=MONDAY, **more):
    return ScheduleState(Job("x", parse(text, dialect="kron"), **more), 1, now - 1, now * 1000)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("* * * * * @only(dow=SUN)", "2026-06-07T00:00:00Z"),
        ("0 * * * * @only(date=2026-12-25)", "2026-12-25T00:00:00Z"),
        ("* * * * * @only(date=2031-02-01)", "2031-02-01T00:00:00Z"),
    ],
)
def test_coming_leaps_to_the_next_open_day(text, first):
    assert upcoming(a_case(text), MONDAY * 1000, 1)[0].at == instant_of(first) * 1000


def test_coming_agrees_with_a_walk_over_every_period():
    dice = random.Random(7)
    clauses = ["dow=SUN", "dow=MON,THU;hours=3-5", "between=22:30-02:10;dow=SAT", "dom=9,17", "months=7;hours=1"]
    for _ in range(25):
        zone = dice.choice(["UTC", "Asia/Kathmandu", "Pacific/Kiritimati", "America/St_Johns"])
        window = dice.choice(["", "@win(after,3h)", "@win(around,9h)"])
        tz = f"@tz({zone})" if zone != "UTC" else ""
        case = a_case(f"0 */{dice.choice([1, 2, 3])} * * * {tz} {window} @only({dice.choice(clauses)})")
        walk = islice(periods(case.job.schedule, moment(MONDAY - 40_000)), 3_000)
        dues = sorted(due.at for period in walk if _runs(case, due := due_of(case.job, period.nominal)))
        assert [due.at for due in upcoming(case, MONDAY * 1000, 8)] == dues[:8]


def _runs(case, due):
    return due.schedulable and due.at > MONDAY * 1000 and due.nominal > case.cursor


def test_coming_says_up_to_when_it_looked():
    case = a_case("0 * * * * @only(date=2026-01-01)")
    assert upcoming(case, MONDAY * 1000, 5) == []
    assert no_upcoming_reason(case, MONDAY * 1000).startswith("no period until 21")


def test_coming_of_a_schedule_that_rests_is_empty_with_the_reason():
    case = a_case("0 * * * *")
    for rests, words in [
        (case._replace(paused=True), "paused"),
        (case._replace(deleted=True), "deleted"),
        (a_case("0 * * * * @policy(suspend=true)"), "suspended"),
        (a_case("0 * * * *", end=MONDAY - 5), "ended at 2026-05-31T23:59:55Z"),
    ]:
        assert upcoming(rests, MONDAY * 1000, 5) == []
        assert words in no_upcoming_reason(rests, MONDAY * 1000)
    ends = case._replace(paused=True, paused_until=(MONDAY + 7_200) * 1000)
    assert upcoming(ends, MONDAY * 1000, 1)[0].at == (MONDAY + 7_200) * 1000


def test_coming_inside_a_window_names_no_run_that_never_happens():
    async def script():
        world = World("2026-03-01T00:30:00Z", duration=1)
        await world.define("0 0 * * * @win(after,3h)", SERVICE)  # the period of midnight was before it
        told = await world.registrar.preview("job", 1)
        await world.run("2026-03-02T04:00:00Z")
        (run,) = await world.store.runs("job", 10)
        assert told == [run.due]

    play(script())


def test_coming_leaves_out_what_is_handled_ahead():
    case = a_case("0 * * * *")._replace(handled_ahead=frozenset({MONDAY + 3_600}))
    assert upcoming(case, MONDAY * 1000, 1)[0].nominal == MONDAY + 7_200


def test_coming_leaps_within_the_day_too():
    """The closed minutes of a day are one step: 20,000 steps reach years ahead, not 20,000 minutes."""
    case = a_case("* * * * * @only(hours=3;months=2;dom=29)")
    assert upcoming(case, MONDAY * 1000, 121)[120].at == instant_of("2036-02-29T03:00:00Z") * 1000


def test_coming_is_empty_where_more_windows_overlap_than_are_decided():
    """Any of the periods that are not decided can be the next run."""
    case = a_case("0 0 * * * @win(around,2562047h)")._replace(cursor=-4_000_000_000, effective_from=-4_000_000_000_000)
    assert upcoming(case, MONDAY * 1000, 5) == []
    assert "windows of more than 20,000 periods overlap" in no_upcoming_reason(case, MONDAY * 1000)


def test_coming_names_the_end_of_the_calendar():
    late = instant_of("9998-01-01T00:00:00Z")
    case = a_case("0 0 1 1 *", late)
    assert upcoming(case, late * 1000, 5) == []
    assert no_upcoming_reason(case, late * 1000) == "the schedule has no further period until 9702-01-20T01:46:40Z"
