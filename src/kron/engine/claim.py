"""Claims: runs that a worker has claimed and is about to launch, and the results of their launches."""

from __future__ import annotations

from typing import NamedTuple

from kron.rules.launch_result import LaunchResponse, answered
from kron.rules.run import Run
from kron.timing.job import Job
from kron.timing.schedule.policy import Policy


class Claim(NamedTuple):
    """Run that this worker has claimed, and the runs to cancel before it.

    `began` and `now` are the time of the claim, by the timer and by the store.
    """

    job: Job
    run: Run
    began: float
    now: int
    schedule: Policy  # present policy of the schedule: the run's revision may have an older one
    cancels: tuple[tuple[Job, Run], ...] = ()


class Result(NamedTuple):
    """Launch result of a claim, when the run was sent, in the store's milliseconds, and how long the launch took."""

    claim: Claim
    response: LaunchResponse
    sent: int
    duration: int = 0  # milliseconds


def run_after(claim: Claim, response: LaunchResponse, now: int) -> Run:
    """Return the run after its launch, by the policy of the revision under which it was recorded."""
    policy = claim.job.schedule.policy
    return answered(claim.run, response.result, policy, now, response.retry_after_ms, response.report)
