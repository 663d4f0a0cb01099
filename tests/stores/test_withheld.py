"""Why a run was withheld is recorded in every store, and `why` says it while the run waits."""

from kron.engine.why import why
from kron.rules.attempt import AttemptResult, launched_attempt
from kron.rules.launch_result import LaunchResponse, LaunchResult, answered
from kron.rules.run import claimed
from kron.rules.run_state import State
from tests.stores.making import NOW, SECONDS, a_run, define, now, say

CAUSES = (
    "the worker holds hooks.example.com after 10 failed launches, until 2027-01-15T08:00:30Z",
    "the limit of hooks.example.com (10 concurrent launches, 5 launches per second) is reached",
)


def withheld(store, run, cause):
    """The run after a worker has withheld its attempt, as the dispatcher records it."""
    response = LaunchResponse(LaunchResult.UNSENT, 30_000, excerpt=cause)
    after = answered(run, response.result, now(store).policy, NOW, response.retry_after_ms)
    assert say(store, run, after, attempt=launched_attempt(run, response, NOW, 0))
    return after


def summary(store):
    report = store.runner.run(why(store.store, "a", (SECONDS + 60) * 1000))
    return report.summary(), [*report.lines()]


def test_why_of_a_run_that_waits_says_what_it_waits_for(store):
    run = a_run(State.LAUNCHING, lease=NOW + 1)
    define(store, None, run)
    for number, cause in enumerate(CAUSES, 1):
        after = withheld(store, run, cause)
        text, lines = summary(store)
        counts = f"Attempts: {number}. Withheld by a worker and not sent: {number}."
        assert text == f"open: The run is waiting: {cause}. {counts}"
        assert f'attempt {number} at 2027-01-15T08:00:00.000Z: not sent after 0 ms: "{cause}"' in lines
        run = claimed(after, "w1", NOW + 1, NOW)
        assert say(store, after, run)
        assert "The run is waiting" not in summary(store)[0]


def test_why_of_a_run_that_was_sent_does_not_say_it_waits(store):
    run = a_run(State.LAUNCHING, lease=NOW + 1)
    define(store, None, run)
    after = withheld(store, run, CAUSES[0])
    run = claimed(after, "w1", NOW + 1, NOW)
    assert say(store, after, run)
    response = LaunchResponse(LaunchResult.RETRYABLE, code=503)
    after = answered(run, response.result, now(store).policy, NOW)
    assert say(store, run, after, attempt=launched_attempt(run, response, NOW, 5))
    (attempts,) = store.attempts([run.key])
    assert [attempt.result for attempt in attempts] == [AttemptResult.UNSENT, AttemptResult.RETRYABLE]
    assert "The run is waiting" not in summary(store)[0]
