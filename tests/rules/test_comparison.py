"""Comparison of two definitions: added, moved and lost runs, as far as both lists of runs reach."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kron import parse
from kron.rules.comparison import after_edit, compared
from kron.rules.edit import created
from kron.rules.pause import NO_ACTOR, paused
from kron.rules.upcoming import UpcomingDues, search_upcoming
from kron.timing.due import Due
from kron.timing.job import Job
from kron.timing.schedule.policy import SERVICE
from kron.timing.zone import instant_of

NOW = instant_of("2026-03-27T10:20:30Z") * 1000
DAY = 86_400_000


def fires(*pairs, more=False):
    return UpcomingDues([Due(nominal, at) for nominal, at in pairs], complete=not more)


def test_the_difference_is_of_what_both_were_told():
    told = compared(fires((1, 10), (2, 20), (3, 30)), fires((1, 10), (2, 25), (4, 40)), 90)
    assert (told.added, told.moved, told.lost) == ([Due(4, 40)], [(Due(2, 20), Due(2, 25))], [Due(3, 30)])
    cut = compared(fires((1, 10), (2, 20), more=True), fires((1, 10), (2, 20), (3, 30)), 90)
    assert cut == ([], [], [], 20)
    assert compared(fires(), fires((1, 10)), 90).added == [Due(1, 10)]
    assert compared(fires((1, 10)), fires(), 5) == ([], [], [], 5)


def job(text):
    return Job("job", replace(parse(text, dialect="kron"), policy=SERVICE), target="test:it")


TEXTS = [
    "0 * * * *",
    "*/30 2 * * * @tz(Europe/Paris)",
    "0 */3 * * * @win(after,4h)",
    "0 */3 * * * @win(around,2h)",
    "0 */3 * * * @win(around,2h) @avoid(hours=12)",
    "0 9 * * MON",
]


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.integers(0, 6 * 3_600_000), st.sampled_from([5, 1_000]))
def test_comparison_turns_the_old_runs_into_the_new_ones(old_text, new_text, later, count):
    state = created(job(old_text), None, NOW, NO_ACTOR).after
    now = NOW + later
    after = after_edit(job(new_text), state, now)
    before_runs, after_runs = (search_upcoming(each, now, count + 1) for each in (state, after))
    cut = [
        UpcomingDues(each.dues[:count], each.complete and len(each.dues) <= count) for each in (before_runs, after_runs)
    ]
    found = compared(*cut, now + 5 * DAY)
    old, new = ({due for due in each.dues if due.at <= found.upto} for each in (before_runs, after_runs))
    turned = old - set(found.lost) - {due for due, _ in found.moved}
    assert turned | set(found.added) | {due for _, due in found.moved} == new
    assert not {due.nominal for due in found.added} & {due.nominal for due in old}
    assert not {due.nominal for due in found.lost} & {due.nominal for due in new}


def test_pause_stays_in_the_state_after_an_edit():
    state = created(job("0 * * * *"), None, NOW, NO_ACTOR).after
    resting = paused(state, NOW, NOW + DAY, NO_ACTOR).after
    assert after_edit(job("30 * * * *"), resting, NOW + 1).paused_until == NOW + DAY
    assert not after_edit(job("30 * * * *"), resting, NOW + 2 * DAY).paused
    assert after_edit(job("0 * * * *"), state, NOW + 1) is state


@pytest.mark.parametrize("gone", [False, True])
def test_schedule_that_does_not_exist_is_new(gone):
    tombstone = created(job("0 * * * *"), None, NOW, NO_ACTOR).after._replace(deleted=True) if gone else None
    assert after_edit(job("0 * * * *"), tombstone, NOW).revision == (2 if gone else 1)
