"""Claim without a Job: whether no Job was created, or whether one can have been created and be gone."""

from __future__ import annotations

from kron.apps.operator.kronjob import KronJob
from kron.rules.launch_result import LaunchResult, answered, failed_launch
from kron.rules.run import Run
from kron.timing.schedule.policy import Policy

TTL = "ttlSecondsAfterFinished"  # of a Job: Kubernetes deletes it so long after its end


def without_job(run: Run, kronjob: KronJob | None, policy: Policy, now: int) -> Run:
    """Return the run of a claim whose worker died, and which has no Job.

    If the Job was certainly not created, the run goes back and is launched in time. Otherwise it ends as unknown: a
    launch could run its period a second time.
    """
    if proves_absence(run, kronjob, now):
        return answered(run, LaunchResult.UNSENT, policy, now)
    return failed_launch(run._replace(maybe_delivered=True), now)


def proves_absence(run: Run, kronjob: KronJob | None, now: int) -> bool:
    """Return whether a Job that is not there was not created.

    Jobs are deleted with their KronJob, also if it is created again, and by their TTL.
    """
    if kronjob is None or kronjob.created * 1000 > run.sent:
        return False
    owner = kronjob.owner
    seconds = owner.template["spec"].get(TTL) if owner is not None else None
    return not isinstance(seconds, int) or now - run.sent < seconds * 1000
