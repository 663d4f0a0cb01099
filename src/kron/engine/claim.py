"""Claims: runs that a worker has claimed and is about to launch, and the results of their launches."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.attempt import launched_attempt
from kron.rules.counters import failed_end
from kron.rules.launch_result import LaunchResponse, LaunchResult, answered, next_check_after
from kron.rules.plan import Plan
from kron.rules.run import Run
from kron.rules.update import RunUpdate
from kron.timing.job import Job


class Claim(NamedTuple):
    """Run that this worker has claimed, and the runs to cancel before it.

    `began` and `now` are the time of the claim, by the timer and by the store.
    """

    job: Job
    run: Run
    began: float
    now: int
    plan: Plan  # by which it was claimed; its policy is the present one: the run's revision may have an older one
    cancels: tuple[tuple[Job, Run], ...] = ()
    target: str = ""  # what limits and breakers count by: the host of its lane


class Result(NamedTuple):
    """Launch result of a claim, when the run was sent, in the store's milliseconds, and how long the launch took."""

    claim: Claim
    response: LaunchResponse
    sent: int
    duration: int = 0  # milliseconds
    withheld: int | None = None  # when the worker withheld the run, in the store's milliseconds

    def response_at(self, now: int) -> LaunchResponse:
        """Return the response as it counts when it is written.

        The delay of a withheld run begins when the run was withheld: a store that is slow does not extend it. The delay
        that a target requests begins when its response is written.
        """
        if self.withheld is None:
            return self.response
        delay = self.response.retry_after_ms
        return self.response._replace(retry_after_ms=min(delay, max(0, self.withheld + delay - now)))


def run_after(claim: Claim, response: LaunchResponse, sent: int, now: int) -> Run:
    """Return the run after its launch at `sent`, by the policy of the revision under which it was recorded."""
    policy, run = claim.job.schedule.policy, claim.run
    if response.result in (LaunchResult.OK, LaunchResult.SHADOW):
        run = run._replace(sent=min(sent, now))  # the claim may have waited; the timer may be ahead of the store
    return answered(run, response.result, policy, now, response.retry_after_ms, response.report)


def update_after(result: Result, run: Run, now: int) -> RunUpdate:
    """Return the update that records a result; `run` is the run after its launch."""
    claim, response = result.claim, result.response
    return RunUpdate(
        claim.run,
        run,
        next_check_after(run, claim.plan.state.policy, now),
        response.run_id,
        launched_attempt(claim.run, response, result.sent, result.duration),
        failed_end(run, claim.job.schedule.policy),
    )
