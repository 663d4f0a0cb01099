"""Counts and time limits of a run come back from every store, and reports and plans write them alike."""

from dataclasses import replace

from kron.rules.launch_result import LaunchResult, Report, answered, next_check_after, reported
from kron.rules.outcome import Reason
from kron.rules.plan import plan
from kron.rules.run_state import State
from kron.rules.update import RunUpdate, update_of
from kron.timing.schedule.policy import SECOND, Completion
from tests.stores.making import NOW, Policy, a_case, a_job, define, now

LIMITED = Policy(
    completion=Completion.REPORTED,
    retry_after=2 * SECOND,
    retry_attempts=1,
    timeout=10 * SECOND,
    launch_attempts=3,
)


def advance(store, at):
    made = plan(now(store), at, owner="w1", lease=30_000)
    assert store.commit([update_of(made)], at) == [True]
    return made


def write(store, run, after, at):
    (written,) = store.update_runs([RunUpdate(run, after, next_check_after(after, LIMITED, at))], at)
    assert written
    (stored,) = store.runs_by_key([run.key])
    assert stored == after
    return stored


def test_run_times_out_is_retried_and_fails_with_the_same_record(store):
    """The whole life of a run: two launches, a time limit, a retry that fails, and the end."""
    define(store, a_case()._replace(job=a_job(policy=LIMITED)))
    at = NOW + 60_000
    (run,) = advance(store, at).launches
    run = write(store, run, answered(run, LaunchResult.RETRYABLE, LIMITED, at), at)
    at = run.not_before
    (run,) = advance(store, at).launches
    run = write(store, run, answered(run, LaunchResult.OK, LIMITED, at), at)
    assert (run.launched, run.failures, run.ends_by) == (2, 0, at + 10_000)
    assert now(store).next_check_at == run.ends_by

    made = advance(store, run.ends_by)
    (stored,) = store.runs_by_key([run.key])
    assert (made.cancels, stored.state, stored.reason) == ((run,), State.WAITING, Reason.TIMEOUT)
    assert stored.failures == 1
    (run,) = advance(store, stored.not_before).launches
    at = stored.not_before
    assert (run.launch_tries, run.ends_by) == (1, None)
    run = write(store, run, answered(run, LaunchResult.OK, LIMITED, at), at)
    end = write(store, run, reported(run, Report.FAILED, LIMITED, at + 1, run.attempt), at + 1)
    assert (end.state, end.reason, end.failures, end.launched) == (State.FAILED, Reason.FAILED, 2, 3)


def test_policy_with_later_axes_comes_back_equal(store):
    policy = replace(LIMITED, launch_factor=3, retry_max_delay=None, overlap_limit=7)
    define(store, a_case()._replace(job=a_job(policy=policy)))
    assert now(store).policy == policy
    (revision,) = store.revisions("a")
    assert revision.job.schedule.policy == policy
