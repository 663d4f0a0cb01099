"""Next runs of many schedules: only those that no other schedule can precede."""

from kron import parse
from kron.rules.next_runs import next_runs
from kron.rules.state import ScheduleState
from kron.timing.job import Job
from kron.timing.zone import instant_of

NOW = instant_of("2026-03-01T12:00:30Z") * 1000


def a_state(name, text, check):
    return ScheduleState(Job(name, parse(text, dialect="kron")), 1, NOW // 1000 - 1, 0, next_check_at=NOW + check)


STATES = [
    a_state("waits", "0 0 1 1 *", 1_000),  # checked for another reason than a period
    a_state("hourly", "0 * * * *", 3_000),
    a_state("soon", "* * * * *", 30_000),
    a_state("daily", "0 9 * * *", 86_400_000),
]


def names(runs):
    return [run.identity for run in runs]


def test_runs_are_in_the_order_of_their_due_times():
    runs = next_runs(STATES, NOW, 9)
    assert names(runs) == ["soon", "hourly", "daily", "waits"]
    assert runs[0].at == runs[0].due.at == NOW + 30_000
    assert names(next_runs(STATES, NOW, 2)) == ["soon", "hourly"]


def test_runs_after_the_last_check_are_left_out_if_there_are_more_schedules():
    assert names(next_runs(STATES, NOW, 9, more=True)) == ["soon", "hourly", "daily"]
    assert names(next_runs(STATES[:3], NOW, 9, more=True)) == ["soon"]
    assert next_runs([], NOW, 9, more=True) == []


def test_search_ends_when_it_is_enough():
    assert next_runs(STATES, NOW, 9, enough=lambda: True) == []
