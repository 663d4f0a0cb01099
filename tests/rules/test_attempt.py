"""Attempts are recorded where something went wrong, and hold no secret and no more than 200 characters."""

from dataclasses import replace

import pytest

from kron.rules.attempt import AttemptResult, launched_attempt, lost_attempt, reported_attempt
from kron.rules.excerpt import excerpt_of, excerpt_of_error
from kron.rules.launch_result import LaunchResponse, LaunchResult, Report
from kron.rules.plan import plan
from kron.rules.run_state import State
from kron.rules.update import update_of
from kron.timing.schedule.policy import KRON, WorkerLossPolicy
from tests.stores.making import NOW, a_case, a_job, a_run

CLAIMED = a_run(State.LAUNCHING, sent=NOW - 500)


@pytest.mark.parametrize("result", LaunchResult)
def test_first_attempt_is_recorded_unless_it_is_accepted_withheld_or_in_shadow_mode(result):
    attempt = launched_attempt(CLAIMED, LaunchResponse(result), NOW - 400, 31)
    if result in (LaunchResult.OK, LaunchResult.UNSENT, LaunchResult.SHADOW):
        assert attempt is None
    else:
        assert attempt == (1, NOW - 400, 31, AttemptResult(result), None, "")


def test_withheld_attempt_with_a_cause_is_recorded():
    response = LaunchResponse(LaunchResult.UNSENT, excerpt="no slot")
    assert launched_attempt(CLAIMED, response, NOW, 0).result is AttemptResult.UNSENT


def test_accepted_attempt_is_recorded_after_one_that_may_have_been_sent():
    response = LaunchResponse(LaunchResult.OK, code=202)
    second = CLAIMED._replace(attempt=2)
    assert launched_attempt(second, response, NOW, 9) == (2, NOW, 9, AttemptResult.OK, 202, "")
    assert launched_attempt(second._replace(unsent=1), response, NOW, 9) is None


@pytest.mark.parametrize(("report", "result"), [(Report.FAILED, "failed"), (Report.SUCCESS, "success")])
def test_answer_that_reports_the_end_records_the_end(report, result):
    response = LaunchResponse(LaunchResult.OK, report=report, code=200)
    first, second = (launched_attempt(CLAIMED._replace(attempt=n), response, NOW, 1) for n in (1, 2))
    assert (first and first.result) == ("failed" if report is Report.FAILED else None)
    assert second.result == result


def test_report_of_a_failure_is_recorded_with_its_error():
    run = a_run(State.STARTED, sent=NOW - 2_000)
    attempt = reported_attempt(run, Report.FAILED, NOW, 1, 3, "boom")
    assert attempt == (1, NOW - 2_000, 2_000, AttemptResult.FAILED, 3, "boom")
    assert reported_attempt(run, Report.STARTED, NOW) is None
    assert reported_attempt(run, Report.SUCCESS, NOW) is None
    assert reported_attempt(run._replace(attempt=2), Report.SUCCESS, NOW).result is AttemptResult.SUCCESS
    assert reported_attempt(run._replace(attempt=2), Report.SUCCESS, NOW, 1) is None


@pytest.mark.parametrize("state", [State.LAUNCHING, State.ENQUEUED, State.STARTED])
@pytest.mark.parametrize("loss", WorkerLossPolicy)
def test_plan_that_ends_a_lease_records_the_lost_attempt(state, loss):
    run = a_run(state, lease=NOW, sent=NOW - 30_000, owner="w1")
    job = a_job(policy=replace(KRON, on_worker_loss=loss))
    update = update_of(plan(a_case(cursor=run.nominal)._replace(job=job, open_runs=(run,)), NOW, owner="w2", lease=1))
    ((lost, attempt),) = update.attempts
    assert (lost, attempt) == (run, lost_attempt(run, NOW))
    assert (attempt.number, attempt.at, attempt.duration, attempt.result) == (1, NOW - 30_000, 30_000, "lost")
    assert "worker w1" in attempt.excerpt


def test_code_that_no_store_accepts_is_dropped():
    response = LaunchResponse(LaunchResult.REJECTED, code=1 << 40)
    assert launched_attempt(CLAIMED, response, NOW, -5) == (1, NOW, 0, AttemptResult.REJECTED, None, "")


@pytest.mark.parametrize("number", [1, 50, 51, 1_000])
def test_slot_is_within_the_limit(number):
    attempt = lost_attempt(CLAIMED._replace(attempt=number), NOW)
    assert attempt.slot == (number - 1) % 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("upstream down", "upstream down"),
        ("  two\r\n\tlines\x00 \x1b[31mred\u202e ", "two lines [31mred"),
        ("\ud800x", "x"),
        ("x" * 200, "x" * 200),
        ("x y" * 5_000, "x y" * 66 + "x…"),
        ("no https://me:pw@example.com/a?key=1&b=2#c here", "no https://…@example.com/a?… here"),
        ("why? because", "why? because"),
        ('{"token": "abc.def", "n": 1}', '{"token": …, "n": 1}'),
        ('{\\"token\\":\\"abc\\",\\"n\\":1}', '{\\"token\\":…,\\"n\\":1}'),
        ("Authorization: Bearer abc.def x", "Authorization: … x"),
        ("webhook-signature=v1,AAAA/b+c= rest", "webhook-signature=… rest"),
        ("PASSWORD=hunter2; host=db", "PASSWORD=…; host=db"),
    ],
)
def test_excerpt_is_one_safe_line(text, expected):
    assert excerpt_of(text) == expected
    assert excerpt_of(excerpt_of(text)) == expected


def test_excerpt_drops_a_word_that_is_cut():
    text = "a " * 495 + "https://user:password@example.com"
    assert "user" not in excerpt_of(text.replace("a ", "\n"))


def test_excerpt_of_an_error_has_its_type_and_text():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert excerpt_of_error(None) == ""
    assert excerpt_of_error(ValueError("too\nlarge")) == "ValueError: too large"
    assert excerpt_of_error(KeyError()) == "KeyError"
    assert excerpt_of_error(Mute()) == "Mute"
